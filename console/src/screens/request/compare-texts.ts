import type { ShownText } from './texts.ts'

export interface ComparedTexts {
  before: string
  after: string
  /** Equal messages at the beginning, which are left out. */
  same: number
  /** Whether a side was too long to be compared as a whole. */
  isCut: boolean
}

/** Bounds of a side: the page must not stall, whatever was sent. */
const maxLines = 1000
const maxCharacters = 200_000
/** Longer lines are broken, so that a paragraph differs only where it was changed. */
const lineLength = 160

/** Two conversations as lines, without the messages with which both begin. */
export function compareTexts(one: readonly ShownText[], other: readonly ShownText[]): ComparedTexts {
  const different = one.findIndex(({ role, text }, index) => {
    const counterpart = other[index]
    return counterpart === undefined || counterpart.role !== role || counterpart.text !== text
  })
  const same = different === -1 ? one.length : different
  const [before, after] = [toLines(one.slice(same)), toLines(other.slice(same))]
  return {
    ...{ before: before.lines.join('\n'), after: after.lines.join('\n'), same },
    isCut: before.isCut || after.isCut,
  }
}

function toLines(texts: readonly ShownText[]): { lines: string[]; isCut: boolean } {
  const lines: string[] = []
  let characters = 0
  for (const { role, text } of texts) {
    const rest = maxCharacters - characters
    lines.push(`[${role}]`, ...text.slice(0, rest).split('\n').flatMap(breakLine))
    characters += text.length
    if (characters > maxCharacters || lines.length > maxLines)
      return { lines: lines.slice(0, maxLines), isCut: true }
  }
  return { lines, isCut: false }
}

/** Breaks after a space where there is one. */
function breakLine(line: string): string[] {
  if (line.length <= lineLength) return [line]
  return line.match(new RegExp(`.{1,${lineLength}}(?: |$)|.{1,${lineLength}}`, 'gsu')) ?? [line]
}
