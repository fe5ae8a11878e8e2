import type { Span } from './detector.ts'

const label = '[PROMPT_INJECTION]'

/** One of these in decoded text makes it suspicious. */
const decodedKeywords = /\b(?:ignore|bypass|override|reveal|system|prompt)\b/i

const base64Pattern = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}/g
/** `69676e6f7265`, `69 67 6e 6f`, `69:67:6e:6f`, `\x69\x67`, `0x69 0x67`, `%69%67`. */
const hexPattern = /(?<![0-9a-z])(?:(?:\\x|0x|%)?[0-9a-f]{2}[ :,]{0,2}){8,}/gi
const hexSigns = /\\x|0x|[ :,%]/gi
/** `i g n o r e`, `i-g-n-o-r-e`: single letters with the same sign between them. */
const spacedPattern = /(?<![a-z0-9])[a-z]([ .\-_*|])[a-z](?![a-z0-9])(?:\1{1,4}[a-z](?![a-z0-9])){3,400}/gi
/** Length of the pieces in which longer text is decoded; they overlap by the length of a keyword. */
const pieceLength = 4096
const pieceOverlap = 32

/** Injections that are encoded or spaced out, by their kind; `isInjection` judges the plain text. */
export function findEncodedInjections(
  text: string,
  isInjection: (plain: string) => boolean,
): Iterable<Span>[] {
  return [
    findEncoded(text, base64Pattern, decodeBase64, 'base64_encoded_injection'),
    findEncoded(text, hexPattern, decodeHex, 'hex_encoded_injection'),
    findSpaced(text, isInjection),
  ]
}

function* findEncoded(
  text: string,
  pattern: RegExp,
  decode: (encoded: string) => Buffer,
  kind: string,
): Generator<Span> {
  for (const { index, 0: encoded } of text.matchAll(pattern)) {
    if (isSuspicious(decode(encoded)))
      yield { start: index, end: index + encoded.trimEnd().length, label, kind }
  }
}

function decodeBase64(encoded: string): Buffer {
  return Buffer.from(encoded, 'base64')
}

function decodeHex(encoded: string): Buffer {
  return Buffer.from(encoded.replace(hexSigns, ''), 'hex')
}

/** Keys, hashes and pictures are no readable text. */
function isSuspicious(bytes: Buffer): boolean {
  for (
    let start = 0;
    start + pieceOverlap < bytes.length || start === 0;
    start += pieceLength - pieceOverlap
  ) {
    const text = bytes.toString('latin1', start, start + pieceLength)
    if (decodedKeywords.test(text) && isReadable(text)) return true
  }
  return false
}

/** Whether a text is long enough and has no control characters; scripts other than Latin are fine. */
function isReadable(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what tells bytes from text.
  return text.length >= 6 && !/[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]/.test(text)
}

/** The letters of spaced text joined; longer gaps separate words. */
function* findSpaced(text: string, isInjection: (plain: string) => boolean): Generator<Span> {
  for (const { index, 0: spaced, 1: sign = ' ' } of text.matchAll(spacedPattern)) {
    const plain = spaced.replaceAll(sign.repeat(2), '\0').replaceAll(sign, '').replace(/\0+/g, ' ')
    const compact = plain.replaceAll(' ', '').toLowerCase()
    if (isInjection(plain) || compactPhrases.test(compact))
      yield { start: index, end: index + spaced.length, label, kind: 'spaced_injection' }
  }
}

/** Phrases without spaces: a text without its spaces has no words. */
const compactPhrases =
  /ignore(?:all|any|the|your|my){0,2}(?:previous|prior|above|earlier|instructions|rules|safety)|(?:reveal|show|print|repeat)(?:me)?(?:the|your)(?:system|hidden|initial|secret)?(?:prompt|instructions)|bypass(?:all|the|your)?(?:safety|security|restrictions|filters)|override(?:the|your|all)?(?:system|instructions|safety)|disregard(?:all|any|the|your)|forget(?:all|your)(?:previous|instructions|rules)|developermode|doanythingnow/
