import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fakeSecret } from './fake-secrets.ts'

/** A text with what the detectors must find in it. */
export interface Passage {
  /** The file it is in. */
  genre: string
  text: string
  marks: Mark[]
  isHeldOut: boolean
}

export interface Mark {
  /** The slug of the detector. */
  slug: string
  start: number
  end: number
}

/** The names of marks in the files. */
const slugs: Readonly<Record<string, string>> = {
  email: 'email',
  phone: 'phone',
  ssn: 'ssn',
  card: 'credit-card',
  ip: 'ip-address',
  name: 'person-name',
  address: 'address',
  secret: 'secrets',
  injection: 'regex-prompt-injection',
}

const markPattern = /⟦(\w+):([^⟧]*)⟧/g
const separator = /^---$/m

/** All passages. Detectors are tuned on one half and measured on the other. */
export function readCorpus(): Passage[] {
  return readdirSync(import.meta.dir)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .flatMap((file) => {
      const passages = readFileSync(join(import.meta.dir, file), 'utf8').split(separator)
      return passages.map((source) => readPassage(file.replace('.txt', ''), source.trim()))
    })
}

function readPassage(genre: string, source: string): Passage {
  // Made here, so that no scanner takes a file of this repository for a leak.
  const filled = source.replace(/\{\{([\w-]+)\}\}/g, (_, id: string) => fakeSecret(id))
  const marks: Mark[] = []
  let [text, at] = ['', 0]
  for (const { index, 0: mark, 1: name = '', 2: content = '' } of filled.matchAll(markPattern)) {
    const slug = slugs[name]
    if (!slug) throw new Error(`${genre}: unknown mark ${name}`)
    text += filled.slice(at, index)
    marks.push({ slug, start: text.length, end: text.length + content.length })
    text += content
    at = index + mark.length
  }
  // By its text: adding a passage moves no other one to another half.
  return { genre, text: text + filled.slice(at), marks, isHeldOut: Bun.hash.crc32(source) % 2 === 1 }
}
