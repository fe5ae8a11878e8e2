import { Fieldset, SimpleGrid, TagsInput } from '@mantine/core'
import type { Schemas } from '../api/client.ts'
import { formatSetTags, readSetTags } from './tag-rules.ts'

export type TagRules = Schemas['TagRules']

export const noTagRules: TagRules = { required: [], forbidden: [], set: {} }

/** The body for the API: null without rules. */
export function toTagRules(rules: TagRules): TagRules | null {
  const { required, forbidden, set } = rules
  return required.length + forbidden.length + Object.keys(set).length === 0 ? null : rules
}

/** The API takes no more. */
const maxTags = 16

interface TagRulesFieldsProps {
  value: TagRules
  disabled?: boolean
  onChange: (rules: TagRules) => void
}

/** Rules about the tags of requests. */
export function TagRulesFields({ value, disabled = false, onChange }: TagRulesFieldsProps) {
  const common = { acceptValueOnBlur: true, maxTags, disabled }
  return (
    <Fieldset legend="Tags of requests">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <TagsInput
          {...common}
          label="Required"
          description="Requests without them are rejected"
          placeholder={value.required.length === 0 ? 'project' : ''}
          value={value.required}
          onChange={(required) => onChange({ ...value, required })}
        />
        <TagsInput
          {...common}
          label="Forbidden"
          description="Requests with them are rejected"
          placeholder={value.forbidden.length === 0 ? 'internal' : ''}
          value={value.forbidden}
          onChange={(forbidden) => onChange({ ...value, forbidden })}
        />
        <TagsInput
          {...common}
          label="Always set"
          description="Replace what the client sends"
          placeholder={Object.keys(value.set).length === 0 ? 'team=search' : ''}
          value={formatSetTags(value.set)}
          onChange={(tags) => onChange({ ...value, set: readSetTags(tags) })}
        />
      </SimpleGrid>
    </Fieldset>
  )
}
