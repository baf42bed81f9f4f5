"""Function words of English and Spanish: words that connect others and seldom tell a topic.

The lists have articles, pronouns, prepositions, conjunctions, auxiliary verbs, particles and a few
adverbs. Words of one letter are not needed, because a token has at least two characters. English
contractions are listed by their parts, as the tokenizer splits them: "don't" becomes "don".
"""

from __future__ import annotations

ENGLISH = (
    "the an this that these those such each every either neither both all any some "
    "no none other others another same own me my mine myself we us our ours "
    "ourselves you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself they them their theirs themselves one ones who whom "
    "whose which what whoever whatever whichever someone somebody something anyone "
    "anybody anything everyone everybody everything nobody nothing about above "  # ignore-words
    "across after against along among around as at before behind below beneath "
    "beside besides between beyond by despite down during except for from in "  # ignore-words
    "inside into near of off on onto out outside over past per since through throughout "
    "till to toward towards under until up upon via with within without and but or "  # ignore-words
    "nor so yet if unless because although though while whereas whether than then "
    "else when whenever where wherever why how am is are was were be been being do "
    "does did done doing have has had having will would shall should can could may "  # ignore-words
    "might must ought not only just even also too very much more most many few "  # ignore-words
    "less least rather quite again ever never always often here there now already still "
    "once almost however therefore thus ll ve re don doesn didn isn aren wasn weren "
    "hasn haven hadn wouldn couldn shouldn mustn ain "
)

SPANISH = (
    "el la los las lo un una unos unas al del yo tú él ella ello nosotros nosotras "
    "vosotros vosotras ellos ellas usted ustedes me te se nos os le les mí ti sí "
    "conmigo contigo consigo mi mis tu tus su sus mío mía míos mías tuyo tuya tuyos "
    "tuyas suyo suya suyos suyas nuestro nuestra nuestros nuestras vuestro vuestra "
    "vuestros vuestras este esta estos estas ese esa esos esas aquel aquella "
    "aquellos aquellas esto eso aquello éste ésta éstos éstas ése ésa ésos ésas "
    "aquél aquélla que quien quienes cual cuales cuyo cuya cuyos cuyas cuanto "
    "cuanta cuantos cuantas qué quién quiénes cuál cuáles cuánto cuánta cuántos "
    "cuántas cómo cuándo dónde algo alguien alguno alguna algunos algunas algún "
    "nada nadie ninguno ninguna ningún otro otra otros otras mismo misma mismos "
    "mismas cada todo toda todos todas ambos ambas tal tales varios varias mucho "
    "mucha muchos muchas poco poca pocos pocas tanto tanta tantos tantas ante bajo "
    "con contra de desde durante en entre hacia hasta mediante para por según sin "
    "sobre tras pero sino ni si aunque porque pues como cuando donde mientras ser "
    "soy eres es somos sois son era eras éramos erais eran fui fuiste fue fuimos "
    "fuisteis fueron sea seas seamos seáis sean sería serías seríamos seríais "
    "serían siendo sido estar estoy estás está estamos estáis están estaba estabas "
    "estábamos estabais estaban estuve estuvo estuvieron esté estés estén estando "
    "haber he has ha hemos habéis han había habías habíamos habíais habían hubo "
    "hubieron haya hayas hayamos hayáis hayan habría habrías habríamos habríais "
    "habrían habiendo habido hay no ya muy más menos también tampoco solo sólo así "
    "aún aun luego entonces siempre nunca aquí ahí allí antes después "
)

NAMED = {
    "english": tuple(sorted(set(ENGLISH.split()))),
    "spanish": tuple(sorted(set(SPANISH.split()))),
}
