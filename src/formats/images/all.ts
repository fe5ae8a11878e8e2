import type { TaskWireFormat, WireFormatName } from '../vocabulary.ts'
import { geminiImages } from './gemini.ts'
import { imagen } from './imagen.ts'
import { images } from './openai.ts'
import { pixelImages } from './pixel.ts'
import type { ImageWireFormat } from './wire-format.ts'

const wireFormats = {
  images,
  'pixel-images': pixelImages,
  'gemini-images': geminiImages,
  imagen,
} satisfies Record<TaskWireFormat<'images'>, ImageWireFormat>

/** The wire formats for images, by name. */
export const imageWireFormats: Readonly<Partial<Record<WireFormatName, ImageWireFormat>>> = wireFormats
