import { z } from 'zod'

/** The members of a panel, and the model that replies with their results. */
const fusionPreset = z.strictObject({
  analysis_models: z.array(z.string().min(1)).min(1).max(8),
  model: z.string().min(1),
})

export type FusionPreset = z.output<typeof fusionPreset>

/** Panels of models; one that is null is chosen from the models that a key can use. */
export const fusionSettings = z
  .strictObject({
    'general-high': fusionPreset.nullable().default(null),
    'general-budget': fusionPreset.nullable().default(null),
    'general-fast': fusionPreset.nullable().default(null),
  })
  .prefault({})

export type FusionPresetName = keyof z.output<typeof fusionSettings>
