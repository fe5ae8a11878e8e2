import { countMembers } from './json-duplicates.ts'
import { findStringEnd } from './json-string.ts'

/** Serialising a shorter text is faster than searching it. */
const minSpliceLength = 16 * 1024

/**
 * The JSON of `after`, which is `before` with some members changed. Unchanged members are copied from the text that
 * `before` was parsed from, so that a long prompt is not serialized again.
 */
export function spliceJson(
  text: string,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string {
  if (text.length < minSpliceLength) return JSON.stringify(after)
  const members = locateMembers(text)
  if (!members) return JSON.stringify(after)
  // Concatenated, not joined: the runtime then copies a long text once, when it is sent.
  let json = ''
  for (const [name, value] of Object.entries(after)) {
    if (value === undefined) continue
    const member = members.get(name)
    const isCopied = member && before[name] === value && hasNoDuplicateKeys(member, value)
    json += json === '' ? '{' : ','
    json += isCopied
      ? text.slice(member.start, member.end)
      : `${JSON.stringify(name)}:${JSON.stringify(value)}`
  }
  return json === '' ? '{}' : `${json}}`
}

interface MemberSpan {
  start: number
  end: number
  /** Members of objects in its text, itself included. */
  memberCount: number
}

/** Parsers differ about duplicate keys: the upstream must receive only the value that was read here. */
function hasNoDuplicateKeys({ memberCount }: MemberSpan, value: unknown): boolean {
  return memberCount === 1 + countMembers(value)
}

/** The positions of the members of the outermost object; null if the text cannot be copied from. */
function locateMembers(text: string): Map<string, MemberSpan> | null {
  const members = new Map<string, MemberSpan>()
  let at = text.indexOf('{') + 1
  for (;;) {
    const start = text.indexOf('"', at)
    if (start === -1) return members
    const nameEnd = findStringEnd(text, start + 1)
    const { end, members: count } = findValueEnd(text, nameEnd + 1)
    const name = text.slice(start + 1, nameEnd)
    // An escaped or duplicate name cannot be matched with the parsed object.
    if (name.includes('\\') || members.has(name)) return null
    members.set(name, { start, end, memberCount: count })
    if (text.charCodeAt(end) === closeBrace) return members
    at = end + 1
  }
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const closeBrace = 0x7d

/** Scans from the end of a name, past the colon and the value, to the comma or brace that follows. */
function findValueEnd(text: string, from: number): { end: number; members: number } {
  let depth = 0
  let members = 0
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = findStringEnd(text, at + 1)
    else if (code === colon) members++
    else if (code === 0x7b || code === 0x5b) depth++
    else if (depth === 0 && (code === comma || code === closeBrace)) return { end: at, members }
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return { end: text.length, members }
}
