import { z } from 'zod'
import { isTagName, isTagValue, maxNameLength, maxTags, maxValueLength, splitTag } from './tag.ts'

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
