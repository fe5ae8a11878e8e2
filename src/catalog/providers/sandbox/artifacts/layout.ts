import { glyphHeight, glyphWidth, toFontCharacters } from './font.ts'

/** Text set to fill an area. */
export interface TextLayout {
  lines: string[]
  /** Pixels of the picture for a pixel of the font. */
  scale: number
}

/** Pixels of the font from one character or line to the next. */
export const advance = glyphWidth + 1
export const lineHeight = glyphHeight + 3
/** More would be too small to read. */
const maxCharacters = 1000
/** Lines that fit at least, so that a short text does not fill the picture with one letter. */
const minLines = 4
const ellipsis = '...'

/** The largest letters with which the text fits; at the smallest, the rest of the text is left out. */
export function layoutText(text: string, width: number, height: number): TextLayout {
  const words = readWords(text)
  let [smallest, largest] = [1, Math.max(1, Math.floor(height / lineHeight / minLines))]
  while (smallest < largest) {
    const scale = Math.ceil((smallest + largest) / 2)
    if (isFitting(words, width, height, scale)) smallest = scale
    else largest = scale - 1
  }
  const columns = countFitting(width, advance * smallest)
  const rows = countFitting(height, lineHeight * smallest)
  const lines = wrapWords(words, columns)
  if (lines.length <= rows) return { lines, scale: smallest }
  const shown = lines.slice(0, rows)
  const last = shown.pop()
  if (last === undefined) return { lines: [], scale: smallest }
  const cut = last.slice(0, Math.max(0, columns - ellipsis.length))
  return { lines: [...shown, `${cut}${ellipsis}`.slice(0, columns)], scale: smallest }
}

function readWords(text: string): string[] {
  const shown = toFontCharacters(text.slice(0, maxCharacters))
  return [...shown.split(/\s+/), text.length > maxCharacters ? ellipsis : ''].filter((word) => word !== '')
}

function countFitting(length: number, step: number): number {
  return Math.floor(length / step)
}

/** Breaking a word is for the smallest letters only. */
function isFitting(words: readonly string[], width: number, height: number, scale: number): boolean {
  const columns = countFitting(width, advance * scale)
  if (words.some((word) => word.length > columns)) return false
  return wrapWords(words, columns).length <= countFitting(height, lineHeight * scale)
}

function wrapWords(words: readonly string[], columns: number): string[] {
  if (columns < 1) return []
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    const joined = line ? `${line} ${word}` : word
    if (joined.length <= columns) {
      line = joined
      continue
    }
    if (line) lines.push(line)
    line = word
    for (; line.length > columns; line = line.slice(columns)) lines.push(line.slice(0, columns))
  }
  return line ? [...lines, line] : lines
}
