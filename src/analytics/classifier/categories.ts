import type { categories } from '../../formats/vocabulary.ts'
import type { Concept, SignalStrengths } from './signals.ts'
import type { TaskTag } from './tasks.ts'

/** A subject that models are ranked by. */
export type TopicCategory = (typeof categories)[number]

/** Tasks that are a subject of their own. */
const categoriesByTask: Partial<Record<TaskTag | 'other', TopicCategory>> = {
  'general:roleplay': 'roleplay',
  'general:translation': 'translation',
  'agent:coding': 'programming',
}

/** The subjects of words, with weights. Among equal ones the first is chosen. */
const categoriesByConcept: readonly [Concept, TopicCategory, number][] = [
  ['seo', 'marketing/seo', 1.3],
  ['legal', 'legal', 1.1],
  ['health', 'health', 1.1],
  ['finance', 'finance', 1],
  ['marketing', 'marketing', 1],
  ['science', 'science', 1],
  ['academia', 'academia', 0.95],
  ['tech', 'technology', 0.9],
  ['trivia', 'trivia', 0.85],
]

const minStrength = 0.6

/** Null where no subject is recognized. */
export function findTopic(
  strengths: SignalStrengths,
  tag: TaskTag | 'other',
  isCode: boolean,
): TopicCategory | null {
  const ofTask = categoriesByTask[tag]
  if (ofTask) return ofTask
  if (isCode) return 'programming'
  let best: TopicCategory | null = null
  let strongest = minStrength
  for (const [concept, category, weight] of categoriesByConcept) {
    const strength = (strengths.get(concept) ?? 0) * weight
    if (strength > strongest) [best, strongest] = [category, strength]
  }
  return best
}
