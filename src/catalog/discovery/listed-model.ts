import { z } from 'zod'
import { inputModalities, outputModalities, wireFormatNames } from '../../formats/vocabulary.ts'
import { pricing } from '../price.ts'

/** A model in a provider's own list: what the provider says about it. */
export const listedModel = z.strictObject({
  /** The provider's name of the model. */
  id: z.string(),
  name: z.string().optional(),
  context_length: z.int().positive().optional(),
  max_completion_tokens: z.int().positive().optional(),
  input_modalities: z.array(z.enum(inputModalities)).min(1).optional(),
  output_modalities: z.array(z.enum(outputModalities)).min(1).optional(),
  /** The provider's formats for it, if it serves its models in different ones. */
  dialects: z.array(z.enum(wireFormatNames)).min(1).optional(),
  pricing: pricing.optional(),
})

export type ListedModel = z.output<typeof listedModel>

/** The lists of providers, by slug. */
export type ModelLists = ReadonlyMap<string, readonly ListedModel[]>
