import type { ModelCall } from '../../formats/call/call.ts'
import { findTopic, type TopicCategory } from './categories.ts'
import { readForm } from './form.ts'
import { findWordIndex } from './languages.ts'
import { type PromptSample, samplePrompt } from './prompt-sample.ts'
import { maxStrength, type SignalStrengths } from './signals.ts'
import { type MacroCategory, macroCategoryOf, type TaskTag } from './tasks.ts'
import { findBestTask } from './weights.ts'
import { splitWords } from './word-index.ts'

/** The classification of a prompt by task. */
export interface TaskClassification {
  /** `code:debugging`, or `other` where none is likely. */
  tag: TaskTag | 'other'
  /** Null for `other`. */
  macro: MacroCategory | null
  language: 'natural' | 'programming'
  /** The subject; null where none is recognized. */
  category: TopicCategory | null
  /** 0 to 1: how clearly the best task is ahead of the next. */
  confidence: number
}

/** Score below which the task is `other`. */
const minScore = 1.7

/** Classifies a prompt by its words and its form. The time it takes does not grow with the prompt. */
export function classifyTask(call: ModelCall): TaskClassification {
  return classifySample(samplePrompt(call))
}

export function classifySample(sample: PromptSample): TaskClassification {
  const strengths = readSignals(sample)
  const { tag, score, next } = findBestTask(strengths)
  const isKnown = score >= minScore
  const macro = isKnown ? macroCategoryOf(tag) : null
  const isCode = macro === 'code' || tag === 'agent:coding' || (strengths.has('codeText') && macro !== null)
  return {
    tag: isKnown ? tag : 'other',
    macro,
    language: isCode ? 'programming' : 'natural',
    category: findTopic(strengths, isKnown ? tag : 'other', isCode),
    confidence: isKnown ? score / (score + next) : 0,
  }
}

/** The first and last words of a message usually state the task; the text between them is often the material. */
const instructionWords = 30
const closingWords = 20
const bodyWeight = 0.3
const systemWeight = 0.8
const systemWords = 60

function readSignals(sample: PromptSample): SignalStrengths {
  const strengths: SignalStrengths = new Map()
  const words = splitWords(`${sample.userStart} ${sample.userEnd}`)
  const closing = words.length - closingWords
  addWords(strengths, words, (at) => (at < instructionWords || at >= closing ? 1 : bodyWeight))
  addWords(strengths, splitWords(sample.system), (at) => (at < systemWords ? systemWeight : bodyWeight))
  for (const signal of readForm(sample, words.length)) strengths.set(signal, 1)
  return strengths
}

function addWords(
  strengths: SignalStrengths,
  words: readonly string[],
  weightOf: (at: number) => number,
): void {
  const index = findWordIndex(words)
  for (let at = 0; at < words.length; at++) {
    const weight = weightOf(at)
    index.match(words, at, (concept) => {
      const strength = strengths.get(concept) ?? 0
      const next = strength === 0 ? weight : Math.max(strength, weight) + repetitionWeight * weight
      strengths.set(concept, Math.min(maxStrength, next))
    })
  }
}

const repetitionWeight = 0.2
