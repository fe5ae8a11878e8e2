import { findStringEnd } from './json-string.ts'

/** Members of all objects in a parsed value: fewer than in its text if a key is duplicated. */
export function countMembers(value: unknown): number {
  let count = 0
  const open = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) {
      for (const entry of next) if (typeof entry === 'object' && entry !== null) open.push(entry)
    } else if (typeof next === 'object' && next !== null) {
      for (const key in next) {
        count++
        const inner = (next as Record<string, unknown>)[key]
        if (typeof inner === 'object' && inner !== null) open.push(inner)
      }
    }
  }
  return count
}

/** An open object or array. */
interface Level {
  /** Null for an array. */
  keys: Set<string> | null
  /** The key or the index of the current value. */
  position: string | number
  /** The next string is a key. */
  expectsKey: boolean
}

/** The path of the first duplicate key in valid JSON, such as `filters.0.name`. */
export function findDuplicateKey(text: string): string | null {
  const levels: Level[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const level = levels.at(-1)
    if (character === '{') levels.push({ keys: new Set(), position: '', expectsKey: true })
    else if (character === '[') levels.push({ keys: null, position: 0, expectsKey: false })
    else if (character === '}' || character === ']') levels.pop()
    else if (character === ',' && level) advance(level)
    else if (character === '"') {
      const end = findStringEnd(text, at + 1)
      if (level?.expectsKey && !addKey(level, String(JSON.parse(text.slice(at, end + 1)))))
        return levels.map((each) => each.position).join('.')
      at = end
    }
  }
  return null
}

function advance(level: Level): void {
  if (level.keys) level.expectsKey = true
  else level.position = Number(level.position) + 1
}

/** False for a duplicate key. */
function addKey(level: Level, key: string): boolean {
  level.position = key
  level.expectsKey = false
  if (level.keys?.has(key)) return false
  level.keys?.add(key)
  return true
}
