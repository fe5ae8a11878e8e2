import type { z } from 'zod'
import { asObject, asObjects } from '../../../platform/json/json-values.ts'
import type { BenchmarkSource } from '../result.ts'
import { artificialAnalysisFile, readArtificialAnalysis } from './artificial-analysis.ts'
import { type ArenaOptions, designArenaFile, readDesignArena } from './design-arena.ts'
import { readDesignArenaCsv } from './design-arena-csv.ts'
import { ImportError, type PublishedScore } from './entry.ts'
import { readUnified, unifiedFile } from './unified.ts'

const maxEntries = 100_000

/** The scores of one source in a file that the source publishes, or in a response of `GET /benchmarks`. */
export function readBenchmarkFile(
  text: string,
  source: BenchmarkSource,
  options: ArenaOptions,
): PublishedScore[] {
  const document = parseDocument(text, source)
  if (asObjects(document.data).length > maxEntries)
    throw new ImportError(`The file has more than ${maxEntries} entries.`)
  if (isUnified(document))
    return readUnified(parseWith(unifiedFile, document)).filter((score) => score.source === source)
  switch (source) {
    case 'artificial-analysis':
      return readArtificialAnalysis(parseWith(artificialAnalysisFile, document))
    case 'design-arena':
      return readDesignArena(parseWith(designArenaFile, document), options)
    default:
      throw new ImportError(
        'The file is not a response of GET /benchmarks: its items have no model_permaslug.',
      )
  }
}

/** Lists without an envelope are accepted too. */
function parseDocument(text: string, source: BenchmarkSource): { data?: unknown } {
  const isJson = /^\s*[[{]/.test(text)
  if (!isJson && source === 'design-arena') return readDesignArenaCsv(text)
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? { data: value } : (asObject(value) ?? {})
  } catch {
    throw new ImportError('The file is not valid JSON.')
  }
}

function isUnified({ data }: { data?: unknown }): boolean {
  return asObjects(data).some((item) => 'model_permaslug' in item)
}

function parseWith<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new ImportError(
    `The file has an unexpected form: ${issue?.path.join('.') || 'data'}: ${issue?.message}.`,
  )
}
