/** A longer text is judged by its beginning. */
const maxCharacters = 2000
const maxWords = 200

/** Scripts that few languages use, with the most common one of each. */
const scripts = [
  ['ja', /\p{Script=Hiragana}|\p{Script=Katakana}/gu],
  ['ko', /\p{Script=Hangul}/gu],
  ['zh', /\p{Script=Han}/gu],
  ['ru', /\p{Script=Cyrillic}/gu],
  ['ar', /\p{Script=Arabic}/gu],
  ['he', /\p{Script=Hebrew}/gu],
  ['el', /\p{Script=Greek}/gu],
  ['hi', /\p{Script=Devanagari}/gu],
  ['bn', /\p{Script=Bengali}/gu],
  ['ta', /\p{Script=Tamil}/gu],
  ['te', /\p{Script=Telugu}/gu],
  ['th', /\p{Script=Thai}/gu],
  ['ka', /\p{Script=Georgian}/gu],
  ['hy', /\p{Script=Armenian}/gu],
] as const

/** Letters by which a language differs from the most common one of its script. */
const ownLetters = [
  ['ru', 'uk', /[іїєґ]/iu],
  ['ru', 'be', /ў/iu],
  ['ar', 'fa', /[پچژگ]/u],
] as const

/** The most frequent words of languages in Latin script, without those that several of them share with English. */
const frequentWords: Readonly<Record<string, string>> = {
  en: 'the and of to is that it you for my this with are be your what have i can how please from which should an these write make not at was on do we they there',
  de: 'der die das und ist nicht ein eine ich mir den dem zu mit auf für von wie was bitte diese dieser mein meine einen einer einem sind du warum aus oder soll kannst welche wird sich schreibe im zum nach habe über',
  fr: 'le la les des et est une pour dans que qui je ce cette ces mon ma mes du au avec sur ne pas comment quel quelle sont un de tu il nous vous votre plus par ou écris donne aux où',
  es: 'el los las y es una para en que mi mis este esta con por del al como se lo un no cual son tu de la yo eres su sobre más escribe qué cómo puedes sin soy',
  it: 'il lo gli e è una per che di non sono mi questo questa con del della nel come un scrivi puoi cosa perché ho sei anche più dei alla',
  pt: 'o os as e é uma para que não em do da dos das um com por se como meu minha você este esta são mais escreva ao pode isso qual',
  nl: 'de het een en van ik te dat die niet zijn op aan met voor er maar om hem dan zou wat mijn deze dit hoe kun je schrijf waarom naar ook',
  pl: 'i w nie na się z do jest że to jak co po ale czy dla mnie mi ten ta tego napisz proszę o są być może od',
  sv: 'och att det i en jag som är på av för med den till inte om har de ett vi hur kan skriv mig min vad eller från',
  tr: 've bir bu için ile de da ne nasıl mi ben sen çok olarak var yok bana lütfen gibi daha ama yaz olan',
  cs: 'a v na je se že to jak co z do pro ale ten jsem prosím napište by jako po si mi může jsou',
  id: 'yang dan di ini itu untuk dengan dari saya tidak ada apa bagaimana adalah ke pada akan anda bisa tolong buat',
  vi: 'và là của có không cho một các được trong tôi bạn này với những để như hãy làm gì viết',
}

const languagesByWord = indexWords()

function indexWords(): ReadonlyMap<string, readonly string[]> {
  const languages = new Map<string, string[]>()
  for (const [language, words] of Object.entries(frequentWords))
    for (const word of words.split(' ')) languages.set(word, [...(languages.get(word) ?? []), language])
  return languages
}

/**
 * The language of a text as an ISO 639-1 code, or the empty text if it is not clear: by its script, and in Latin
 * script by its most frequent words.
 */
export function detectLanguage(text: string): string {
  const start = text.slice(0, maxCharacters)
  return findByScript(start) ?? findByWords(start)
}

/** The language of the script that at least a third of the letters have; undefined for Latin and mixed scripts. */
function findByScript(text: string): string | undefined {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  if (letters === 0) return undefined
  for (const [language, pattern] of scripts) {
    const share = (text.match(pattern)?.length ?? 0) / letters
    // Japanese is written in Han characters with a few of its own between them.
    if (share < (language === 'ja' ? 0.1 : 1 / 3)) continue
    return ownLetters.find(([from, , letter]) => from === language && letter.test(text))?.[1] ?? language
  }
  return undefined
}

/** Two frequent words, and more of them than of any other language, are enough. */
function findByWords(text: string): string {
  const counts = new Map<string, number>()
  const words =
    text
      .toLowerCase()
      .match(/[\p{L}\p{M}]+/gu)
      ?.slice(0, maxWords) ?? []
  for (const word of words)
    for (const language of languagesByWord.get(word) ?? [])
      counts.set(language, (counts.get(language) ?? 0) + 1)
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a)
  if (!first || first[1] < 2 || first[1] === second?.[1]) return ''
  return first[0]
}
