import { compareVersions, parseRelease } from '../../catalog/family.ts'
import type { Model } from '../../catalog/model.ts'

/** A model that a text names, and the words that do. */
export interface ModelMention {
  model: string
  /** Offsets in the text, in characters. */
  start: number
  end: number
  /** Whether it names a whole slug, or more than one word: hardly by accident. */
  isCertain: boolean
}

type NamedModel = Pick<Model, 'id' | 'author' | 'listed_at'>

interface Word {
  text: string
  start: number
  end: number
}

/** Maximum number of words in a name. */
const maxWords = 7
/** More of a text is not searched. */
const maxCharacters = 20_000
const wordPattern = /[\p{L}\p{N}]+(?:\.\p{N}+)*/gu

/** The models that a text names, in the order it names them. Of a family without a version, the newest is meant. */
export function findModelMentions(text: string, models: readonly NamedModel[]): ModelMention[] {
  const byName = indexNames(models)
  const words = splitWords(text.slice(0, maxCharacters))
  const mentions: ModelMention[] = []
  for (let at = 0; at < words.length; ) {
    const found = findLongest(words, at, byName)
    if (found) mentions.push(found.mention)
    at += found?.length ?? 1
  }
  return mentions
}

function splitWords(text: string): Word[] {
  // The lower case of a text may be longer than it.
  return [...text.matchAll(wordPattern)].map(({ 0: word, index }) => ({
    text: word.toLowerCase(),
    start: index,
    end: index + word.length,
  }))
}

function findLongest(
  words: readonly Word[],
  at: number,
  byName: ReadonlyMap<string, Naming>,
): { mention: ModelMention; length: number } | null {
  for (let length = Math.min(maxWords, words.length - at); length > 0; length--) {
    const named = words.slice(at, at + length)
    const naming = byName.get(named.map((word) => word.text).join(' '))
    const [first, last] = [named[0], named.at(-1)]
    if (!naming || !first || !last) continue
    const isCertain = naming.isWhole || length > 1
    return { mention: { model: naming.model.id, start: first.start, end: last.end, isCertain }, length }
  }
  return null
}

/** The model of a name. */
interface Naming {
  model: NamedModel
  /** Whether the name is the whole slug with its author. */
  isWhole: boolean
  /** Words of the model's name that are not part of this one. */
  omitted: number
}

/** Every beginning of a model's name, with or without its version, and with or without its author. */
function indexNames(models: readonly NamedModel[]): Map<string, Naming> {
  const byName = new Map<string, Naming>()
  const add = (name: string, naming: Naming) => {
    const known = byName.get(name)
    if (!known || isBetter(naming, known)) byName.set(name, naming)
  }
  for (const model of models) {
    if (model.id.includes(':')) continue
    const slug = model.id.slice(model.author.length + 1)
    const author = toWords(model.author)
    const family = toWords(parseRelease(slug)?.family ?? slug)
    for (const words of [toWords(slug), family]) {
      for (let length = 1; length <= Math.min(words.length, maxWords); length++) {
        const omitted =
          words.length - length + (words === family ? 0 : Math.max(0, family.length - words.length))
        add(words.slice(0, length).join(' '), { model, isWhole: false, omitted })
      }
      add([...author, ...words].join(' '), { model, isWhole: words !== family, omitted: 0 })
    }
    add(author.join(' '), { model, isWhole: false, omitted: family.length })
  }
  return byName
}

function toWords(name: string): string[] {
  return splitWords(name).map(({ text }) => text)
}

/** Whether a name is more specific than a known one or, if they are equally specific, that of a newer model. */
function isBetter(naming: Naming, known: Naming): boolean {
  if (naming.isWhole !== known.isWhole) return naming.isWhole
  if (naming.omitted !== known.omitted) return naming.omitted < known.omitted
  const order =
    compareVersions(versionOf(naming.model), versionOf(known.model)) ||
    naming.model.listed_at - known.model.listed_at
  return order === 0 ? naming.model.id < known.model.id : order > 0
}

function versionOf({ id, author }: NamedModel): readonly number[] {
  return parseRelease(id.slice(author.length + 1))?.version ?? []
}
