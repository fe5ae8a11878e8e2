/** A private vocabulary that the terms of the field have replaced, and British spelling. */
const retiredWords = new Set([
  'anew',
  'artefact',
  'asked',
  'behaviour',
  'colour',
  'discreet',
  'journey',
  'labelled',
  'lane',
  'nobody',
  'recognise',
  'recognised',
  'told',
  'whoever',
  'wish',
  'wishes',
])
/** Retired in names only: in a comment it is ordinary English. */
const retiredInNames = new Set(['kept'])
const retiredPhrases = /\b(?:by heart|own keys?|signs? of life)\b|(?<![a-z])ownKeys?|\bOwnKeys?/g

/** Names that are stored, or are fields of a vendor's API. */
const allowedNames = new Set(['ownKeyOrigin'])

const commentOrString = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g

/** The retired words in the names, comments and strings of a module, each once. */
export function findRetiredWords(text: string): string[] {
  const source = text.replace(/[\w$]+/g, (name) => (allowedNames.has(name) ? '' : name))
  const names = source.replace(commentOrString, ' ')
  return [
    ...new Set([
      ...splitWords(source).filter((word) => retiredWords.has(word)),
      ...splitWords(names).filter((word) => retiredInNames.has(word)),
      ...(source.match(retiredPhrases) ?? []),
    ]),
  ]
}

/** `toldToWait` has the words told, to and wait. */
function splitWords(text: string): string[] {
  return (text.match(/[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase())
}
