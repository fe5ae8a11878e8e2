import { useCallback, useEffect, useRef, useState } from 'react'
import { buildRequest } from '../request.ts'
import { runRequest } from '../run.ts'
import type { Settings } from '../settings.ts'
import { type Cell, cellOf, concurrency, type Place, runPool } from './matrix.ts'

export interface Matrix {
  models: string[]
  prompts: string[]
}

/** Every place of a matrix, row by row. */
export function listPlaces({ models, prompts }: Matrix): Place[] {
  return prompts.flatMap((_, prompt) => models.map((_, model) => ({ prompt, model })))
}

export function requestAt({ models, prompts }: Matrix, settings: Settings, { prompt, model }: Place) {
  const text = prompts[prompt] ?? ''
  const entry = { kind: 'user' as const, id: 'prompt', text, attachments: [] }
  return buildRequest(models[model] ?? '', settings, [entry])
}

/** The requests of a matrix, a few at a time. Leaving the screen cancels them. */
export function useMatrix() {
  const [cells, setCells] = useState<readonly Cell[]>([])
  const [progress, setProgress] = useState<{ done: number; total: number } | null>(null)
  const running = useRef<AbortController | null>(null)
  const cancel = useCallback(() => running.current?.abort(), [])
  useEffect(() => cancel, [cancel])

  const run = async (matrix: Matrix, settings: Settings, places: readonly Place[]) => {
    const controller = new AbortController()
    running.current = controller
    setProgress({ done: 0, total: places.length })
    await runPool(places, concurrency, controller.signal, async (place) => {
      const body = requestAt(matrix, settings, place)
      await runRequest(body, controller.signal, (answer) => {
        setCells((all) => [...all.filter((cell) => !isSamePlace(cell, place)), cellOf(place, answer)])
      })
      setProgress((old) => old && { ...old, done: old.done + 1 })
    })
    setProgress(null)
  }

  return { cells, progress, run, cancel, clear: () => setCells([]) }
}

export function isSamePlace(a: Place, b: Place): boolean {
  return a.prompt === b.prompt && a.model === b.model
}
