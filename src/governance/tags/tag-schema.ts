import { z } from 'zod'
import { decodeTagRules } from './rules.ts'
import {
  isTagName,
  isTagValue,
  maxNameLength,
  maxTags,
  maxValueLength,
  nameRule,
  splitTag,
  valueRule,
} from './tag.ts'

export const tagList = z.array(z.string()).describe('`name=value`, sorted.')

const maxLength = maxTags * (maxNameLength + maxValueLength + 3)

/** Tags in a query: requests have all of them. */
export const tagFilter = z
  .string()
  .min(1)
  .max(maxLength)
  .transform((text, context) => {
    const tags = text.split(',').map((tag) => splitTag(tag))
    if (tags.length <= maxTags && tags.every(({ name, value }) => isTagName(name) && isTagValue(value)))
      return tags.map(({ name, value }) => `${name}=${value}`)
    const message = `must be at most ${maxTags} tags of the form name=value, separated by commas`
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
  .meta({ override: { type: 'string' }, examples: ['project=apollo'] })
  .describe('`name=value`, or several of them separated by commas: requests that have all of them.')

const tagName = z
  .string()
  .refine(isTagName, nameRule)
  .meta({ override: { pattern: '^[a-z0-9_.-]{1,64}$' } })
const tagNames = z.array(tagName).max(maxTags)
export const tagValues = z
  .record(
    tagName,
    z
      .string()
      .refine(isTagValue, valueRule)
      .meta({ override: { minLength: 1, maxLength: maxValueLength } }),
  )
  .refine((set) => Object.keys(set).length <= maxTags, `must have at most ${maxTags} tags`)
  .meta({ override: { maxProperties: maxTags } })

/** The rules of a key or a workspace. */
export const tagRulesBody = z
  .strictObject({
    required: tagNames.default([]).describe('Names that every request must have.'),
    forbidden: tagNames.default([]).describe('Names that requests must not send.'),
    set: tagValues.default({}).describe('Tags of every request, whatever the client sends.'),
  })
  .superRefine(({ forbidden, set }, context) => {
    for (const name of forbidden)
      if (Object.hasOwn(set, name))
        context.addIssue({ code: 'custom', path: ['forbidden'], message: `"${name}" is also in set` })
  })
  .meta({ id: 'TagRulesInput' })

export const tagRulesRecord = z
  .strictObject({
    required: z.array(z.string()),
    forbidden: z.array(z.string()),
    set: z.record(z.string(), z.string()),
  })
  .meta({ id: 'TagRules' })

export function toTagRulesRecord(stored: string | null): z.input<typeof tagRulesRecord> | null {
  const rules = decodeTagRules(stored)
  return rules && { required: [...rules.required], forbidden: [...rules.forbidden], set: { ...rules.set } }
}
