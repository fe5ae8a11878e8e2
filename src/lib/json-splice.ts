/** Shorter texts are written anew faster than they are searched. */
const worthwhile = 16 * 1024

/**
 * The JSON of `after`, which is `before` with some members changed, taken from the text `before` was parsed
 * from wherever a member is the very same value: a long prompt is copied, not written again.
 */
export function spliceJson(
  text: string,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string {
  if (text.length < worthwhile) return JSON.stringify(after)
  const members = membersOf(text)
  if (!members) return JSON.stringify(after)
  const parts: string[] = []
  for (const [name, value] of Object.entries(after)) {
    const member = members.get(name)
    if (member && before[name] === value) parts.push(text.slice(member.start, member.end))
    else if (value !== undefined) parts.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`)
  }
  return `{${parts.join(',')}}`
}

interface Span {
  start: number
  end: number
}

/** Where the members of the outermost object are; null for text that is written in a way not foreseen here. */
function membersOf(text: string): Map<string, Span> | null {
  const members = new Map<string, Span>()
  let at = text.indexOf('{') + 1
  for (;;) {
    const start = text.indexOf('"', at)
    if (start === -1) return members
    const nameEnd = endOfString(text, start + 1)
    const end = endOfValue(text, nameEnd + 1)
    const name = text.slice(start + 1, nameEnd)
    // Two spellings of a name, or two members of one, are left to whoever parsed them.
    if (name.includes('\\') || members.has(name)) return null
    members.set(name, { start, end })
    if (text.charCodeAt(end) === closeBrace) return members
    at = end + 1
  }
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const closeBrace = 0x7d

/** From behind a name: over the colon and the value, to the comma or brace that follows. */
function endOfValue(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at + 1)
    else if (code === 0x7b || code === 0x5b) depth++
    else if (depth === 0 && (code === comma || code === closeBrace)) return at
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return text.length
}

/** The quote that closes a string. The runtime's own search passes over long ones far faster than a loop. */
export function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++
    if (escapes % 2 === 0) return end
  }
  return text.length
}
