import { WordIndex } from './word-index.ts'
import common from './words/common.json'
import german from './words/de.json'
import english from './words/en.json'
import spanish from './words/es.json'
import french from './words/fr.json'

/** Words that are frequent in one of the languages and rare in the others. */
const frequentWords = {
  english:
    'the and of to is that it you for my this with are be your what have i can how please from which should an these write make not at',
  german:
    'heisst der die das und ist nicht ein eine ich mir den dem zu mit auf fuer von wie was bitte diese dieser dieses diesen meine mein meinen einen einer einem sind du folgenden warum aus oder soll kannst welche dir haben wird bei aus sich schreibe erstelle im zum zur nach habe danke ueber',
  french:
    'en sa son le la les des et est une pour dans que qui je ce cette ces mon ma mes du au avec sur moi ne pas comment quel quelle sont suivant suivante texte un de tu ton il nous vous votre plus par ou fais ecris donne ca peux aux',
  spanish:
    'el los las y es una para en que mi mis este esta estos estas con por del al como se lo me un no cual son tu siguiente de la yo eres su sobre mas escribe crea dame puedes sin o soy hola estoy',
}
type Language = keyof typeof frequentWords

const wordLists = { english, german, french, spanish }
const indexes = new Map<Language, WordIndex>()
const languagesByWord = buildLanguagesByWord()

/** The words of the language that a text is most likely in; English if none is recognized. */
export function findWordIndex(words: readonly string[]): WordIndex {
  const language = detectLanguage(words)
  const known = indexes.get(language)
  if (known) return known
  const index = new WordIndex([common, wordLists[language]])
  indexes.set(language, index)
  return index
}

/** Number of words that is enough to tell languages apart. */
const maxInspectedWords = 120

function detectLanguage(words: readonly string[]): Language {
  const counts: Record<Language, number> = { english: 0.5, german: 0, french: 0, spanish: 0 }
  for (const word of words.slice(0, maxInspectedWords)) {
    for (const language of languagesByWord.get(word) ?? []) counts[language] += 1
  }
  const names = Object.keys(counts) as Language[]
  return names.reduce((best, name) => (counts[name] > counts[best] ? name : best))
}

function buildLanguagesByWord(): Map<string, Language[]> {
  const byWord = new Map<string, Language[]>()
  for (const [language, words] of Object.entries(frequentWords)) {
    for (const word of words.split(' ')) {
      byWord.set(word, [...(byWord.get(word) ?? []), language as Language])
    }
  }
  return byWord
}
