import { classifySample } from '../classify.ts'
import { macroCategoryOf, type TaskTag } from '../tasks.ts'
import type { LabeledPrompt } from './corpus.ts'

/** Counts of prompts that were classified correctly, and of all. */
export interface Hits {
  right: number
  total: number
}

export interface Accuracy {
  tags: Hits
  macros: Hits
  categories: Hits
  byTag: Map<string, Hits>
  byMacro: Map<string, Hits>
  byLanguage: Map<string, Hits>
}

export function measureAccuracy(prompts: readonly LabeledPrompt[]): Accuracy {
  const newHits = (): Hits => ({ right: 0, total: 0 })
  const accuracy: Accuracy = {
    ...{ tags: newHits(), macros: newHits(), categories: newHits() },
    ...{ byTag: new Map(), byMacro: new Map(), byLanguage: new Map() },
  }
  for (const { sample, language, tag, category } of prompts) {
    const found = classifySample(sample)
    const macro = macroOf(tag)
    const isRight = found.tag === tag
    count(accuracy.tags, isRight)
    count(accuracy.macros, found.macro === macro)
    countIn(accuracy.byTag, tag, isRight)
    countIn(accuracy.byMacro, macro ?? 'other', found.macro === macro)
    countIn(accuracy.byLanguage, language, isRight)
    if (category) count(accuracy.categories, found.category === category)
  }
  return accuracy
}

export function shareOf({ right, total }: Hits): number {
  return total === 0 ? 0 : right / total
}

function macroOf(tag: TaskTag | 'other') {
  return tag === 'other' ? null : macroCategoryOf(tag)
}

function countIn(groups: Map<string, Hits>, name: string, isRight: boolean): void {
  const hits = groups.get(name) ?? { right: 0, total: 0 }
  count(hits, isRight)
  groups.set(name, hits)
}

function count(hits: Hits, isRight: boolean): void {
  hits.total += 1
  if (isRight) hits.right += 1
}
