// The page starts here.

const DATA = JSON.parse(document.getElementById("data").textContent);
const LANGUAGE = new Language(DATA.language, DATA.words);
if (DATA.program) new Nomogram(DATA, LANGUAGE);
drawSections(DATA, LANGUAGE);
document.documentElement.setAttribute("data-ready", "yes");
