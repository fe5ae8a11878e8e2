import { randomUUID } from 'node:crypto'
import { runInSlices } from '../time/time-slicer.ts'
import { assertJsonBoundsInSlices } from './json-bounds.ts'
import { JsonError } from './json-error.ts'
import { findStringEnd } from './json-string.ts'
import { keepText, parseSkeleton, type TextRewrite } from './long-json.ts'

/** A list of numbers as JSON text. */
export class NumberList {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Parses as `parseLenientJson` does, but lists of numbers become `NumberList`s, neither parsed nor copied: that would
 * take most of the time of a reply that consists of numbers.
 */
export async function parseWithNumberLists(
  text: string,
  maxValues: number,
  rewrite: TextRewrite = keepText,
): Promise<unknown> {
  // Stands for a list; random, so that no received text can contain it.
  const marker = `\0${randomUUID()}:`
  const { skeleton, lists } = await runInSlices(extractLists(text, marker, maxValues))
  const rewritten = rewrite(text, skeleton)
  if (rewritten !== text) return parseWithNumberLists(rewritten, maxValues)
  await assertJsonBoundsInSlices(skeleton, maxValues)
  const value = await parseSkeleton(skeleton)
  return lists.length === 0 ? value : restoreLists(value, lists, marker)
}

/** A list of numbers begins with one; its characters are checked, its grammar is not. */
const listPattern = /\[\s*[-\d][-+.,eE\d\s]*\]/y

/** Each step is a list, or a thousand strings. */
function* extractLists(
  text: string,
  marker: string,
  maxLists: number,
): Generator<void, { skeleton: string; lists: NumberList[] }> {
  const parts: string[] = []
  const lists: NumberList[] = []
  let copiedTo = 0
  let found = 0
  let quote = text.indexOf('"')
  for (let open = text.indexOf('['); open !== -1; ) {
    if (quote !== -1 && quote < open) {
      if (++found % 1000 === 0) yield
      const end = findStringEnd(text, quote + 1) + 1
      quote = text.indexOf('"', end)
      if (open < end) open = text.indexOf('[', end)
      continue
    }
    listPattern.lastIndex = open
    if (listPattern.test(text)) {
      const end = listPattern.lastIndex
      parts.push(text.slice(copiedTo, open), JSON.stringify(marker + lists.length))
      if (lists.push(new NumberList(text.slice(open, end))) > maxLists)
        throw new JsonError(`larger than the maximum: it has more than ${maxLists} lists of numbers`)
      copiedTo = end
    }
    yield
    open = text.indexOf('[', Math.max(open + 1, copiedTo))
  }
  return { skeleton: lists.length === 0 ? text : parts.join('') + text.slice(copiedTo), lists }
}

/** Replaces the markers of lists in place. */
function restoreLists(value: unknown, lists: readonly NumberList[], marker: string): unknown {
  if (typeof value === 'string')
    return value.startsWith(marker) ? lists[Number(value.slice(marker.length))] : value
  if (typeof value !== 'object' || value === null) return value
  const holder = value as Record<string, unknown>
  for (const key in holder) holder[key] = restoreLists(holder[key], lists, marker)
  return value
}
