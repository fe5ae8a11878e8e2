import { z } from 'zod'
import { splitUnits } from './split.ts'

export const splitUnit = z.enum(splitUnits)

const splitChoice = z
  .strictObject({
    alias: z.string(),
    model: z.string(),
    tag: z.string().describe('The tag of the request.'),
    split_by: splitUnit.describe('What the target was chosen by.'),
  })
  .meta({ id: 'SplitChoice' })

export const splitChoices = z.array(splitChoice).readonly()
