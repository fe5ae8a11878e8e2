// Tells values that a machine made up from words, numbers and placeholders.

/** The pairs of letters that make up most of English text, and few of random letters. */
const commonPairs = new Set(
  (
    'th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra ce ' +
    'li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ' +
    'ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo sa ay ex ke ' +
    'fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ef cu rn sc gi da cr cl ck ke ey ser pp'
  ).split(' '),
)

/** Bits for each character, by how often each occurs in the text itself. */
export function computeEntropy(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let entropy = 0
  for (const count of counts.values()) entropy -= (count / text.length) * Math.log2(count / text.length)
  return entropy
}

/** Share of letters in words above which a text is words. */
const minWordShare = 0.55
const minPairShare = 0.6
const minWordLength = 3

/** `client_vpn_endpoint`, `SomeTokenProvider`: most of it are letters as they follow each other in words. */
export function hasWords(text: string): boolean {
  let [inWords, pairs, common] = [0, 0, 0]
  for (const [word] of text.matchAll(/[A-Z]?[a-z]+|[A-Z]+/g)) {
    if (word.length < minWordLength) continue
    inWords += word.length
    const lower = word.toLowerCase()
    for (let index = 1; index < lower.length; index++) {
      pairs++
      if (commonPairs.has(lower.slice(index - 1, index + 1))) common++
    }
  }
  return inWords >= minWordShare * text.length && common >= minPairShare * pairs
}

/** `abcdefgh`, `12345678`, `aaaaaaaa`: most characters follow from the one before. */
export function isSequence(text: string): boolean {
  let count = 0
  for (let index = 1; index < text.length; index++) {
    const step = text.charCodeAt(index) - text.charCodeAt(index - 1)
    if (step >= -1 && step <= 1) count++
  }
  return count > 0.6 * (text.length - 1)
}

const placeholder =
  /x{5,}|\*{3,}|\.{3}|(.)\1{7}|abcdefgh|hijklmno|example|placeholder|your[-_]|changeme|redacted|dummy|sample|insert|replace[-_]?|lorem|deadbeefdeadbeef|^(?:my|some|test|fake|mock|todo|the)[-_]/i

/** What documentation writes in place of a secret. */
export function isPlaceholder(text: string): boolean {
  return placeholder.test(text)
}

const minEntropy = { number: 2.2, short: 2.75, long: 3 }
const longLength = 20

/** Whether a value is hardly anything but random: keys, tokens and the like. */
export function isRandom(text: string): boolean {
  if (isPlaceholder(text) || isSequence(text)) return false
  const entropy = computeEntropy(text)
  if (/^\d+$/.test(text)) return entropy >= minEntropy.number
  if (entropy < (text.length < longLength ? minEntropy.short : minEntropy.long)) return false
  if (!/[A-Za-z]/.test(text) || hasWords(text)) return false
  return /\d|[a-z][A-Z].*[a-z][A-Z]/.test(text) || text.length >= 2 * longLength
}
