import { randomUUID } from 'node:crypto'
import { parseLenientJson } from './json.ts'
import { findStringEnd } from './json-string.ts'
import { noRewrite, type TextRewrite } from './long-json.ts'

/** A list of numbers as JSON text. */
export class NumberList {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * As `parseLenientJson`, but lists of numbers become `NumberList`s: they are neither parsed nor copied, which takes
 * most of the time of a reply that consists of numbers.
 */
export function parseWithNumberLists(
  text: string,
  maxContainers: number,
  rewrite: TextRewrite = noRewrite,
): unknown {
  // Stands for a list; random, so that no received text can contain it.
  const marker = `\0${randomUUID()}:`
  const { skeleton, lists } = extractLists(text, marker)
  if (rewrite.isNeeded(skeleton)) return parseWithNumberLists(rewrite.apply(text), maxContainers)
  const value = parseLenientJson(skeleton, maxContainers)
  return lists.length === 0 ? value : restoreLists(value, lists, marker)
}

/** A list of numbers begins with one; its characters are checked, its grammar is not. */
const listPattern = /\[\s*[-\d][-+.,eE\d\s]*\]/y

function extractLists(text: string, marker: string): { skeleton: string; lists: NumberList[] } {
  const parts: string[] = []
  const lists: NumberList[] = []
  let copiedTo = 0
  let quote = text.indexOf('"')
  for (let open = text.indexOf('['); open !== -1; ) {
    if (quote !== -1 && quote < open) {
      const end = findStringEnd(text, quote + 1) + 1
      quote = text.indexOf('"', end)
      if (open < end) open = text.indexOf('[', end)
      continue
    }
    listPattern.lastIndex = open
    if (listPattern.test(text)) {
      const end = listPattern.lastIndex
      parts.push(text.slice(copiedTo, open), JSON.stringify(marker + lists.length))
      lists.push(new NumberList(text.slice(open, end)))
      copiedTo = end
    }
    open = text.indexOf('[', Math.max(open + 1, copiedTo))
  }
  return { skeleton: lists.length === 0 ? text : parts.join('') + text.slice(copiedTo), lists }
}

/** In place. */
function restoreLists(value: unknown, lists: readonly NumberList[], marker: string): unknown {
  if (typeof value === 'string')
    return value.startsWith(marker) ? lists[Number(value.slice(marker.length))] : value
  if (typeof value !== 'object' || value === null) return value
  const holder = value as Record<string, unknown>
  for (const key of Object.keys(holder)) holder[key] = restoreLists(holder[key], lists, marker)
  return value
}
