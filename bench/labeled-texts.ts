// Labeled texts that others published, for `npm run bench -- guard --corpus <folder>`.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Passage } from '../src/governance/filters/corpus/corpus.ts'
import type { DetectorSlug } from '../src/governance/filters/detectors.ts'

/** The entity types of public corpora, and the filter that must find them. */
const slugs: Readonly<Record<string, DetectorSlug>> = {
  EMAIL_ADDRESS: 'email',
  PHONE_NUMBER: 'phone',
  CREDIT_CARD: 'credit-card',
  US_SSN: 'ssn',
  IP_ADDRESS: 'ip-address',
  PERSON: 'person-name',
  STREET_ADDRESS: 'address',
}

const labeledText = z.object({
  text: z.string(),
  spans: z.array(z.object({ type: z.string(), start: z.int(), end: z.int() })),
})
const textList = z.array(z.string())

export interface LabeledSet {
  file: string
  passages: Passage[]
  /** The filters that the labels of the set are about. */
  slugs: ReadonlySet<string>
}

/** Files `.jsonl` have a text with its spans on each line; files `.json` are lists of prompt injections. */
export function readLabeledSets(folder: string): LabeledSet[] {
  const sets = readdirSync(folder)
    .sort()
    .flatMap((file) => readSet(folder, file) ?? [])
  if (sets.length === 0) throw new Error(`${folder} has no .jsonl or .json files`)
  return sets
}

function readSet(folder: string, file: string): LabeledSet | null {
  const text = () => readFileSync(join(folder, file), 'utf8')
  if (file.endsWith('.jsonl')) return toSet(file, text().split('\n').filter(Boolean).map(readLine))
  if (file.endsWith('.json')) return toSet(file, textList.parse(JSON.parse(text())).map(toInjection))
  return null
}

function toSet(file: string, passages: Passage[]): LabeledSet {
  return { file, passages, slugs: new Set(passages.flatMap(({ marks }) => marks.map(({ slug }) => slug))) }
}

function readLine(line: string): Passage {
  const { text, spans } = labeledText.parse(JSON.parse(line))
  const marks = spans.flatMap(({ type, start, end }) => {
    const slug = slugs[type]
    return slug ? [{ slug, start, end }] : []
  })
  return { genre: 'public', text, marks, isHeldOut: true }
}

function toInjection(text: string): Passage {
  const marks = [{ slug: 'regex-prompt-injection', start: 0, end: text.length }]
  return { genre: 'public', text, marks, isHeldOut: true }
}
