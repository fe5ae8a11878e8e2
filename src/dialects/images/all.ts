import type { DialectName, TaskDialect } from '../../catalogue/vocabulary.ts'
import type { ImageDialect } from './dialect.ts'
import { images } from './openai.ts'

/** The wire formats for images, by name. */
const dialects = { images } satisfies Partial<Record<TaskDialect<'images'>, ImageDialect>>

export const imageDialects: Readonly<Partial<Record<DialectName, ImageDialect>>> = dialects
