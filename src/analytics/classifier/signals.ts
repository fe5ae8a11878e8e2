import type common from './words/common.json'
import type english from './words/en.json'

/** The concepts of words, in every language. */
export type Concept = keyof typeof english | keyof typeof common

/** Signals in the form of a prompt. */
export const formSignals = [
  'codeText',
  'stackTrace',
  'diffText',
  'sqlText',
  'jsonText',
  'mathText',
  'numbers',
  'actions',
  'questionMark',
  'short',
  'long',
  'sys',
  'toolAny',
  'toolEdit',
  'toolShell',
  'toolBrowse',
  'toolComputer',
  'toolSupport',
] as const
export type FormSignal = (typeof formSignals)[number]

export type Signal = Concept | FormSignal

/** Strengths of the signals, 0 to `maxStrength`. An absent signal is not in the map. */
export type SignalStrengths = Map<Signal, number>

export const maxStrength = 1.5
