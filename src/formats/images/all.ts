import type { DialectName, TaskDialect } from '../vocabulary.ts'
import type { ImageDialect } from './dialect.ts'
import { geminiImages } from './gemini.ts'
import { imagen } from './imagen.ts'
import { images } from './openai.ts'
import { pixelImages } from './pixel.ts'

const dialects = {
  images,
  'pixel-images': pixelImages,
  'gemini-images': geminiImages,
  imagen,
} satisfies Record<TaskDialect<'images'>, ImageDialect>

/** The wire formats for images, by name. */
export const imageDialects: Readonly<Partial<Record<DialectName, ImageDialect>>> = dialects
