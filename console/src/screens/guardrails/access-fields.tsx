import { Checkbox, Fieldset, Group, SimpleGrid } from '@mantine/core'
import { ModelsInput, ProvidersInput } from '../../components/names-input.tsx'
import { restrictionsOf, retentionSwitches, toPrivacyField } from '../../components/privacy-rules.ts'
import { PrivacySwitches } from '../../components/privacy-switches.tsx'
import type { DraftFields } from './draft.ts'

interface FieldsProps {
  fields: DraftFields
  onChange: (changes: Partial<DraftFields>) => void
}

type Region = NonNullable<DraftFields['allowed_data_regions']>[number]

const regions: { value: Region; label: string }[] = [
  { value: 'global', label: 'Global' },
  { value: 'europe', label: 'Europe' },
  { value: 'us', label: 'United States' },
]

/** The models, providers and regions that may be used. */
export function AccessFields({ fields, onChange }: FieldsProps) {
  return (
    <Fieldset legend="Models and providers">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <ModelsInput
          label="Allowed models"
          placeholder="All models"
          description="@name allows the models of an alias"
          value={fields.allowed_models ?? []}
          onChange={(allowed_models) => onChange({ allowed_models })}
        />
        <ModelsInput
          label="Excluded models"
          placeholder="None"
          description="Take precedence over allowed models"
          value={fields.ignored_models ?? []}
          onChange={(ignored_models) => onChange({ ignored_models })}
        />
        <ProvidersInput
          label="Allowed providers"
          placeholder="All providers"
          value={fields.allowed_providers ?? []}
          onChange={(allowed_providers) => onChange({ allowed_providers })}
        />
        <ProvidersInput
          label="Excluded providers"
          placeholder="None"
          value={fields.ignored_providers ?? []}
          onChange={(ignored_providers) => onChange({ ignored_providers })}
        />
        <Checkbox.Group
          label="Allowed regions"
          description="None selected allows every region"
          value={fields.allowed_data_regions ?? []}
          onChange={(chosen) =>
            onChange({
              allowed_data_regions: regions
                .map(({ value }) => value)
                .filter((region) => chosen.includes(region)),
            })
          }
        >
          <Group pt="xs">
            {regions.map((region) => (
              <Checkbox key={region.value} {...region} />
            ))}
          </Group>
        </Checkbox.Group>
      </SimpleGrid>
    </Fieldset>
  )
}

/** What providers may do with prompts. */
export function PrivacyRuleFields({ fields, onChange }: FieldsProps) {
  return (
    <Fieldset legend="Data policy">
      <Group align="flex-start" style={{ flexDirection: 'column' }}>
        <PrivacySwitches
          value={restrictionsOf(fields)}
          onChange={(rule, restricts) =>
            onChange({
              // The deprecated field applies to the groups that are not set.
              ...(retentionSwitches.some(([name]) => name === rule) && { enforce_zdr: null }),
              [rule]: toPrivacyField(rule, restricts),
            })
          }
        />
      </Group>
    </Fieldset>
  )
}
