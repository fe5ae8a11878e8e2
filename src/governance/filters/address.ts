import { type Detector, mergeSpans, type Span } from './detector.ts'

const label = '[ADDRESS]'

/** Latin letters by their codes: patterns without Unicode properties run several times faster. */
const upper = 'A-ZÀ-ÖØ-ÞĀ-ɏ'
const letter = 'A-Za-zÀ-ÖØ-öø-ɏ'
const word = `[${upper}][${letter}'’.-]{1,24}`
const town = `${word}(?: (?:${word}|am|an der|de|la|le|sur|del|di|upon|on)){0,3}`
/** Ends a street line; a line break or a comma before the town. */
const next = '(?:,? ?\\n ?|, ?| )'
const number = `\\d{1,4}(?:[ ]?[a-zA-Z](?![${letter}]))?(?:[-/]\\d{1,4})?`

/** Words of street lines that no list knows; Greek letters too. */
const anyUpper = `${upper}\u0386-\u03ab`
const anyLetter = `${letter}\u0386-\u03ce`
const anyWord = `[${anyUpper}][${anyLetter}'’.-]{0,24}`
const particle =
  '(?:de|da|do|di|du|des|dos|das|del|della|la|le|el|y|e|a|u|nad|pod|na|im|am|an|der|den|i|van|von)'
const houseNumber = `(?!(?:19|20)\\d\\d\\b)\\d{1,4}[a-zA-Z]?(?![${letter}\\d:%€]|[.,-]\\d)`
/** Months and what is counted rather than addressed: March 12, Chapter 3. */
const counted =
  '(?!(?:January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Chapter|Section|Table|Figure|Page|Part|Step|Version|Level|Gate|Room|Phase|Article|Day|Week|Windows|Type|Class|Grade|Top|Port|Line|Channel|Volume|Season|Episode|Round|No|The|A|I)[. ])'
/** `Name 12` of any language, where an address is announced or a unit follows. */
const streetWords = `${counted}${anyWord}(?: (?:${particle} )?${anyWord}){0,4}`

const streetEnd =
  '(?:Street|St|Road|Rd|Avenue|Ave|Boulevard|Blvd|La[n]e|Ln|Drive|Dr|Court|Ct|Way|Place|Pl|Square|Sq|Terrace|Close|Crescent|Parkway|Pkwy|Highway|Hwy|Mews|Gardens|Row|Walk|Circle|Cir|Trail)'
/** These make a street of what follows a number, whatever comes behind them. */
const clearEnd = '(?:Street|Road|Avenue|Boulevard|Terrace)'
const unit = '(?:Apt\\.?|Apartment|Suite|Ste\\.?|Unit|Flat|Floor|Room|#) ?[\\w-]{1,6}'
const states =
  '(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY])'
const zip = '\\d{5}(?:-\\d{4})?'
const ukPostcode = '[A-Z]{1,2}\\d[A-Z\\d]? ?\\d[A-Z]{2}'
const englishTown = `(?:${next}${town})?(?:${next}(?:${states} ${zip}|${ukPostcode}|${zip}))|${next}${town}(?=[.,\\s]|$)`

/** What announces an address. */
const announced =
  '\\b(?:[Aa]ddress(?:es)?(?: is| to|:| with)?|liv(?:es?|ed|ing) (?:at|on)|located (?:at|on)|(?:office|station|store|shop|restaurant|house|home|building|hotel|clinic)s? (?:is|are) (?:at|on)|sent to|(?:[Rr]eturn|[Dd]eliver|[Ss]hip) (?:it )?to|[Mm]eet (?:me|you|us) (?:at|on)|arrived at|taxi to|off at|corner of),? ?\\s{0,4}'

/** Street lines of one form each, with what may follow: the unit, the post code, the town. */
const patterns: readonly RegExp[] = [
  // 221 Maple Street, Apt 4B, Springfield, IL 62704
  new RegExp(
    `(?<![${letter}\\d.,$€£-])(?:${unit}, ?)?\\d{1,5}[A-Za-z]?(?:-\\d{1,5})? (?:(?:North|South|East|West|[NSEW]\\.?) )?(?:(?:${word}|\\d{1,3}(?:st|nd|rd|th)) ){1,3}${streetEnd}\\b(?:(?= ${town},? ${states} ${zip})|(?<=${clearEnd})(?! (?:of|to|and|or|for)\\b)|(?! [${upper}][a-zà-ÿ]| (?:of|to|and|or|for)\\b))\\.?(?:,? ${unit})?(?:${englishTown})?`,
    'g',
  ),
  /(?<![A-Za-z0-9])P\.? ?O\.? Box \d{1,6}(?:, ?[A-Z][A-Za-z ]{1,24})?(?:, ?[A-Z]{2} \d{5}(?:-\d{4})?)?/g,
  // Hauptstraße 27, 10115 Berlin; Dorpsstraat 12, 3581 AB Utrecht
  new RegExp(
    `(?<![${letter}\\d])(?:(?:Alte|Neue|Große|Kleine|Obere|Untere) )?[${upper}][${letter}-]{1,30}(?:straße|strasse|str\\.|weg|platz|allee|gasse|damm|ufer|chaussee|steig|straat|laan|plein|gracht|kade|singel|dijk)(?: )${number}(?![${letter}\\d:%€]|[.,]\\d)(?:${next}(?:D-|A-|CH-|NL-)?(?:\\d{4} ?[A-Z]{2}|\\d{4,5}) ${town})?`,
    'g',
  ),
  // Søndergade 52, Nybyvägen 65, Kiannonkatu 98, Höfðagata 39, Victor Hugo u. 49
  new RegExp(
    `(?=[${anyUpper}uaop])(?<![${letter}\\d])(?:(?:${anyWord} ){0,2}[${upper}][${letter}-]{1,30}(?:gade|gata|gatan|stræde|vej|vejen|veg|vegen|vei|veien|väg|vägen|torv|plads|gränd|katu|kuja|polku|tie|tänav|maantee|vegur|vegi|stræti|braut|stígur|hove|bakken|svingen|utca|ulica|cesta)|(?:${anyWord} ){1,3}(?:u\\.|utca|út|útja|tér|körút|tee|tie|tänav|ulica|cesta|trg|nám\\.|[Ss]tra(?:ss|ß)e|[Ss]tr\\.?|[Tt]errasse)|(?:ul|al|os|pl)\\. ${anyWord}(?: ${anyWord}){0,2}|Λεωφόρος ${anyWord}|[Tt]rg ${anyWord}) ${houseNumber}`,
    'g',
  ),
  // lives at Jahu 80, our address is 4880 Ombù 9091
  new RegExp(`(?=[${anyUpper}\\d])(?<=${announced})(?:\\d{1,6} )?${streetWords} ${houseNumber}`, 'g'),
  // the corner of Kossuth and Main Street: without a number
  new RegExp(
    `(?<=\\bcorner of )(?:\\d{1,5} )?${streetWords}(?: \\d{1,4})?(?: str| St\\.?)? and ${streetWords}`,
    'g',
  ),
  // Edeby 55, Apt. 297
  new RegExp(
    `(?=[${anyUpper}])(?<![${anyLetter}\\d])${streetWords}(?: ${houseNumber})?\\.?(?=[\\s,>?]{1,6}(?:Suite|Apt\\.) \\d)`,
    'g',
  ),
  // 20789 Allika 46, with a line or a town behind it
  new RegExp(
    `(?<![${anyLetter}\\d.,:/$€£-])\\d{2,6} ${streetWords} ${houseNumber}(?=\\s{0,2}(?:[\\n,.?]| St\\b|$))`,
    'g',
  ),
  /(?<![A-Za-z\d])(?:Suite|Apt\.|Apartment) \d{1,5}(?![\d.,]\d)/g,
  // PSC 1437, Box 3833, APO AA 66791; USNS Bergman, FPO AP 93757
  /(?<![A-Za-z\d])(?:(?:PSC|Unit) \d{1,5},? Box \d{1,5}|(?:USS|USNS|USNV|USCGC) [A-Za-z]{2,24})[\s,]{1,3}[AFD]PO A[AEP] \d{5}(?!\d)/gi,
  // Am Alten Markt 5, 50667 Köln: only with its town
  new RegExp(
    `(?<![${letter}\\d])(?:(?:Am|An der|An den|Auf dem|Auf der|Im|In der|Zum|Zur|Unter den) ${word}(?: ${word})?|${word}(?:er|[- ]${word})? (?:Straße|Strasse|Str\\.|Weg|Platz|Allee|Ring|Ufer|Damm)) ${number}(?:${next}(?:D-|A-|CH-)?\\d{4,5} ${town})`,
    'g',
  ),
  // 12 rue de la République, 69002 Lyon
  new RegExp(
    `(?<![${letter}\\d.,])\\d{1,4}(?: ?(?:bis|ter|[A-D]))?,? (?:rue|Rue|avenue|Avenue|av\\.|boulevard|Boulevard|bd|Bd|place|Place|allée|Allée|chemin|impasse|quai|cours|route|passage|faubourg) (?:(?:de la|de l['’]|du|des|de|la|le|les|d['’]|l['’]) ?){0,2}${word}(?: (?:de |du |des )?${word}){0,3}(?:${next}\\d{5} ${town})?`,
    'g',
  ),
  // Calle de Alcalá 45, 28014 Madrid; Via Garibaldi 15, 20121 Milano; Rua das Flores, 120, 4050-262 Porto
  new RegExp(
    `(?<![${letter}\\d])(?:Calle|C/|Avda\\.?|Avenida|Av\\.|Plaza|Paseo|Pº|Carrer|Ronda|Camino|Via|Viale|Piazza|Corso|Largo|Vicolo|Piazzale|Rua|Praça|Travessa|Alameda|Estrada) (?:(?:de la|de los|de las|del|della|dei|delle|degli|das|dos|da|do|de|la|el|di) )?${word}(?: (?:(?:de la|del|da|de|do|di|y|e) )?${word}){0,3}(?:,? (?:n[.º°]{1,2} ?)?)${number}(?![${letter}\\d:%€]|[.,]\\d)(?:, ?\\d{1,2}[ºª°]\\.? ?[A-Za-z]?(?:zq|der|dcha)?)?(?:${next}(?:\\d{4,5}-\\d{3}|\\d{5}) ${town})?`,
    'g',
  ),
  // 北京市朝阳区建国路88号, 東京都千代田区千代田1-1
  /[\u4e00-\u9fff]{2,8}[省市区县][\u4e00-\u9fff]{1,16}[路街道巷弄]\d{1,5}号(?:\d{1,4}[楼栋室号]){0,3}|(?:東京都|北海道|(?:京都|大阪)府|[\u4e00-\u9fff]{2,3}県)[\u4e00-\u9fff\u3041-\u30ff]{2,16}\d{1,4}(?:[-−丁目番地号]{1,2}\d{1,4}){0,3}/g,
]

/** Street lines of American, British, German, Dutch, French, Spanish, Italian, Portuguese, Chinese and Japanese form. */
export const findAddresses: Detector = (text) => {
  if (!/\d/.test(text)) return []
  const spans: Span[] = []
  for (const pattern of patterns) {
    for (const { index, 0: match } of text.matchAll(pattern)) {
      const trimmed = match.replace(/[\s,.]+$/, '')
      spans.push({ start: index, end: index + trimmed.length, label })
    }
  }
  return extendAddresses(text, mergeSpans(spans))
}

const separator = '[\\s,>?]{1,6}'
/** The unit, then town, country and post code. */
const restOfAddress = new RegExp(
  `(?:\\.?${separator}${unit})?(?:(?:\\.?${separator}(?:${anyWord}|[a-z]{1,3}|\\([A-Z][a-z]{2,16}\\))){0,7}${separator}\\d{5}(?![\\d-]))?`,
  'y',
)
/** The number of a house or a district before the street. */
const numberBefore = /(?<![\d.,:/$€£-])\d{1,6} $/

/** Spans with what belongs to them on both sides. None is as long as two: they do not join. */
function extendAddresses(text: string, spans: readonly Span[]): Span[] {
  const extended: Span[] = []
  let least = 0
  for (const span of spans) {
    if (span.end <= least) continue
    const { start, end } = extendAddress(text, span)
    extended.push({ start: Math.max(start, least), end, label })
    least = end
  }
  return extended
}

function extendAddress(text: string, { start, end }: Span): Span {
  restOfAddress.lastIndex = end
  const rest = restOfAddress.exec(text)?.[0] ?? ''
  const before = numberBefore.exec(text.slice(Math.max(0, start - 8), start))?.[0] ?? ''
  return { start: start - before.length, end: end + rest.length, label }
}
