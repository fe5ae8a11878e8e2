import { jsonrepair } from 'jsonrepair'
import { z } from 'zod'
import { isFaithful } from './json-faithful.ts'
import { normalizeFaults } from './json-normalize.ts'
import type { RepairedJson } from './json-repairer.ts'
import type { JsonObject } from './json-values.ts'

/** Valid JSON made of what a model wrote: without code fences and prose around it, its syntax repaired. Null if there is none. */
export function repairJson(text: string, schema: JsonObject | null): RepairedJson | null {
  for (const candidate of listCandidates(text)) {
    const repaired = tryRepair(candidate)
    if (repaired !== null)
      return { text: repaired, matchesSchema: schema && checkSchema(schema, JSON.parse(repaired)) }
  }
  return null
}

const fencedBlock = /```[a-z0-9]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```/is

/** Lists parts of the text that may be its JSON, most likely first. */
function* listCandidates(text: string): Generator<string> {
  const trimmed = text.trim()
  yield trimmed
  const fenced = fencedBlock.exec(trimmed)?.[1]?.trim()
  if (fenced) yield fenced
  const start = findStart(trimmed)
  if (start < 0 || hasMember(trimmed.slice(0, start))) return
  const fromStart = trimmed.slice(start).replace(/\s*```\s*$/, '')
  yield fromStart
  const end = Math.max(fromStart.lastIndexOf('}'), fromStart.lastIndexOf(']'))
  const whole = fromStart.slice(0, end + 1)
  if (end > 0 && !endsInText(whole) && !continuesJson(fromStart.slice(end + 1))) yield whole
}

/** A bracket behind an odd number of quotes is part of a text. */
function endsInText(json: string): boolean {
  return (json.replace(/\\[\s\S]/g, '').split('"').length - 1) % 2 === 1
}

/** Whether the text after the last bracket begins as a further member or item; otherwise it is prose. */
function continuesJson(rest: string): boolean {
  return /^\s*(?:[,:]|["'“][^"'”\n]*["'”]\s*:)/.test(rest)
}

/** An object anywhere, or a list that a line or a colon introduces: prose has references such as [1]. */
function findStart(text: string): number {
  const { index = -1, 0: match = '' } = /\{|(?:^|[:`\n])\s*\[/.exec(text) ?? {}
  return index < 0 ? -1 : index + match.length - 1
}

const memberLine =
  /^\s*["']?[\w-]+["']?\s*[:=]\s*(?:"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false|null)\s*,?\s*$/im

/** Prose before the JSON is left out, but not a member of an object whose brace is missing. */
function hasMember(prose: string): boolean {
  return memberLine.test(prose)
}

/** Prose is a string to the parser, and two values are a list: only an object or list that began as one counts. */
function tryRepair(candidate: string): string | null {
  if (isJson(candidate)) return candidate
  const [first = ''] = candidate
  if (first !== '{' && first !== '[') return null
  try {
    const normalized = normalizeFaults(candidate)
    if (isJson(normalized)) return normalized
    const repaired = jsonrepair(normalized).trim()
    if (!repaired.startsWith(first) || !isJson(repaired)) return null
    return isFaithful(normalized, repaired) ? repaired : null
  } catch {
    return null
  }
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function checkSchema(schema: JsonObject, value: unknown): boolean | null {
  try {
    return z.fromJSONSchema(schema).safeParse(value).success
  } catch {
    // A keyword that is not supported.
    return null
  }
}
