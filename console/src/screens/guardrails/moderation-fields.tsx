import { Fieldset, Select, SimpleGrid, Switch, TagsInput } from '@mantine/core'
import { TextField } from '../../components/text-field.tsx'
import type { DraftFields } from './draft.ts'
import { filterActions } from './filter-action.ts'

const actions = filterActions.filter(({ value }) => value !== 'redact')

interface ModerationFieldsProps {
  fields: DraftFields
  onChange: (changes: Partial<DraftFields>) => void
}

/** A moderation model classifies prompts, and what no filter can read is allowed or blocked. */
export function ModerationFields({ fields, onChange }: ModerationFieldsProps) {
  const { moderation } = fields
  return (
    <Fieldset legend="Moderation">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Select
          label="Flagged prompts"
          placeholder="Not checked"
          clearable
          data={actions}
          value={moderation?.action ?? null}
          onChange={(value) =>
            onChange({
              moderation: value === 'flag' || value === 'block' ? { ...moderation, action: value } : null,
            })
          }
        />
        {moderation && (
          <>
            <TextField
              label="Moderation model"
              placeholder="Default of the gateway"
              maxLength={256}
              value={moderation.model ?? ''}
              onChange={(model) => onChange({ moderation: { ...moderation, model: model || null } })}
            />
            <TagsInput
              label="Categories"
              placeholder={moderation.categories?.length ? '' : 'All categories'}
              acceptValueOnBlur
              maxTags={100}
              value={moderation.categories ?? []}
              onChange={(categories) =>
                onChange({
                  moderation: { ...moderation, categories: categories.length > 0 ? categories : null },
                })
              }
            />
          </>
        )}
      </SimpleGrid>
      <Switch
        mt="sm"
        label="Block content that filters cannot read, such as images"
        checked={fields.unscannable_content === 'block'}
        onChange={(event) => onChange({ unscannable_content: event.currentTarget.checked ? 'block' : null })}
      />
    </Fieldset>
  )
}
