import type { Span } from './detector.ts'

const label = '[PROMPT_INJECTION]'

/** Words that are recognised with their inner letters in another order. */
const scrambledWords = [
  'ignore',
  'bypass',
  'override',
  'reveal',
  'delete',
  'system',
  'prompt',
  'instructions',
]
/** One of these in decoded text makes it suspicious. */
const decodedKeywords = /ignore|bypass|override|reveal|system|prompt/i

const base64Pattern = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,8192}={0,2}(?![A-Za-z0-9+/=_-])/g
const hexPattern = /(?<![0-9a-f])(?:0x)?(?:[0-9a-f]{2}[ :]?){8,4096}(?![0-9a-f])/gi
/** `i g n o r e`, `i-g-n-o-r-e`: single letters with the same sign between them. */
const spacedPattern =
  /(?<![\p{L}\p{N}])\p{L}(?:([ .\-_*|])\p{L}(?![\p{L}\p{N}]))(?:\1{1,4}\p{L}(?![\p{L}\p{N}])){3,400}/gu

/** Injections in another spelling or encoding; `isInjection` judges the plain text. */
export function findDecodedInjections(text: string, isInjection: (plain: string) => boolean): Span[] {
  return [
    ...findScrambled(text, isInjection),
    ...findEncoded(text, base64Pattern, decodeBase64, 'base64_encoded_injection'),
    ...findEncoded(text, hexPattern, decodeHex, 'hex_encoded_injection'),
    ...findSpaced(text, isInjection),
  ]
}

function findEncoded(
  text: string,
  pattern: RegExp,
  decode: (encoded: string) => string | null,
  kind: string,
): Span[] {
  const spans: Span[] = []
  for (const { index, 0: encoded } of text.matchAll(pattern)) {
    const plain = decode(encoded)
    if (plain !== null && decodedKeywords.test(plain))
      spans.push({ start: index, end: index + encoded.length, label, kind })
  }
  return spans
}

function decodeBase64(encoded: string): string | null {
  return readableText(Buffer.from(encoded.replaceAll('-', '+').replaceAll('_', '/'), 'base64'))
}

function decodeHex(encoded: string): string | null {
  return readableText(Buffer.from(encoded.replace(/^0x|[ :]/gi, ''), 'hex'))
}

/** Null for bytes that are no text: keys and hashes are random. */
function readableText(bytes: Buffer): string | null {
  if (bytes.length < 6) return null
  const text = bytes.toString('utf8')
  return /[^\p{L}\p{N}\p{P}\p{S}\s]/u.test(text) || text.includes('\uFFFD') ? null : text
}

/** The letters of spaced text joined; longer gaps separate words. */
function findSpaced(text: string, isInjection: (plain: string) => boolean): Span[] {
  const spans: Span[] = []
  for (const { index, 0: spaced, 1: sign = ' ' } of text.matchAll(spacedPattern)) {
    const plain = spaced.replaceAll(sign.repeat(2), '\0').replaceAll(sign, '').replace(/\0+/g, ' ')
    const compact = plain.replaceAll(' ', '').toLowerCase()
    if (isInjection(plain) || compactPhrases.test(compact))
      spans.push({ start: index, end: index + spaced.length, label, kind: 'spaced_injection' })
  }
  return spans
}

/** Without its spaces a text has no words, so phrases are searched for without theirs. */
const compactPhrases =
  /ignore(?:all|any|the|your)?(?:previous|prior|above|earlier)|(?:reveal|show|print)(?:me)?(?:the|your)(?:system|hidden|initial)prompt|bypass(?:all|the|your)?(?:safety|security)|override(?:the|your|all)?(?:system|instructions)|disregard(?:all|the|your)/

const wordPattern = /\p{L}{5,16}/gu

/** Scrambled words alone may be typos: the text is suspicious if it is an injection with the words in order. */
function findScrambled(text: string, isInjection: (plain: string) => boolean): Span[] {
  const spans: Span[] = []
  const words = [...text.matchAll(wordPattern)].filter(({ 0: word }) => unscramble(word) !== null)
  for (const { index, 0: word } of words) {
    const start = Math.max(0, index - contextLength)
    const end = Math.min(text.length, index + word.length + contextLength)
    const plain = text.slice(start, end).replace(wordPattern, (other) => unscramble(other) ?? other)
    if (!isInjection(plain)) continue
    spans.push({ start: index, end: index + word.length, label, kind: 'typoglycemia' })
    if (spans.length >= maxSpans) break
  }
  return spans
}

const contextLength = 60
const maxSpans = 100

const scrambledKeys = new Map(scrambledWords.map((word) => [scrambleKey(word), word]))

/** The word that this one is a scrambled form of; null if it is none, or is in order. */
function unscramble(text: string): string | null {
  const word = text.toLowerCase()
  const target = scrambledKeys.get(scrambleKey(word))
  return target === undefined || target === word ? null : target
}

function scrambleKey(word: string): string {
  const inner = [...word.slice(1, -1)].sort().join('')
  return `${word.at(0)}${inner}${word.at(-1)}`
}
