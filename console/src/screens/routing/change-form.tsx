import { Button, Checkbox, Group, Input, Select, SimpleGrid, Stack, Switch, TagsInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allPages } from '../../api/all-pages.ts'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ModelPicker } from '../../components/model-picker.tsx'
import { Panel } from '../../components/panel.tsx'
import { type Change, hasChange, noChange } from './change.ts'

const sorts = [
  { value: 'price', label: 'Lowest price' },
  { value: 'throughput', label: 'Highest throughput' },
  { value: 'latency', label: 'Lowest latency' },
  { value: 'exacto', label: 'Best tool calls (exacto)' },
]

interface ChangeFormProps {
  change: Change
  onChange: (change: Change) => void
}

/** A draft of a change, for all requests. */
export function ChangeForm({ change, onChange }: ChangeFormProps) {
  const mayReadPresets = mayDo(useSession(), 'presets:read')
  const set = (fields: Partial<Change>) => onChange({ ...change, ...fields })
  return (
    <Panel
      title="The change"
      description="Applies to copies of the requests and is not saved. Empty fields keep the current settings."
      actions={
        hasChange(change) && (
          <Button size="xs" variant="default" onClick={() => onChange(noChange)}>
            Clear
          </Button>
        )
      }
    >
      <Stack>
        <ModelFields change={change} onChange={set} />
        {mayReadPresets && <PresetFields change={change} onChange={set} />}
        <ProviderFields change={change} onChange={set} />
      </Stack>
    </Panel>
  )
}

interface FieldsProps {
  change: Change
  onChange: (fields: Partial<Change>) => void
}

function ModelFields({ change, onChange }: FieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <div>
        <Input.Label labelElement="div" aria-hidden="true">
          Model
        </Input.Label>
        <Group gap="xs" wrap="nowrap">
          <ModelPicker label="Model" value={change.model} onChange={(model) => onChange({ model })} />
          {change.model !== '' && (
            <Button
              size="xs"
              variant="default"
              aria-label="Clear the model"
              onClick={() => onChange({ model: '' })}
            >
              Clear
            </Button>
          )}
        </Group>
      </div>
      <TagsInput
        label="Fallback models"
        placeholder={change.models.length === 0 ? 'Press Enter after each' : ''}
        value={change.models}
        maxTags={20}
        onChange={(models) => onChange({ models })}
      />
    </SimpleGrid>
  )
}

const lists = [
  { field: 'order', label: 'Try these providers first' },
  { field: 'only', label: 'Only these providers' },
  { field: 'ignore', label: 'Exclude providers' },
] as const

function ProviderFields({ change, onChange }: FieldsProps) {
  const switchOf = (label: string, checked: boolean, fields: (checked: boolean) => Partial<Change>) => (
    <Switch
      label={label}
      checked={checked}
      onChange={(event) => onChange(fields(event.currentTarget.checked))}
    />
  )
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <div>
          <Select
            label="Order of providers"
            placeholder="As it is"
            clearable
            data={sorts}
            value={change.sort}
            onChange={(sort) => onChange({ sort })}
          />
          <Checkbox
            mt="xs"
            size="xs"
            label="Only where a request has no order of its own, as a default of the workspace"
            checked={change.isDefaultSort}
            onChange={(event) => onChange({ isDefaultSort: event.currentTarget.checked })}
          />
        </div>
        {lists.map(({ field, label }) => (
          <TagsInput
            key={field}
            label={label}
            placeholder={change[field].length === 0 ? 'Slugs, such as openai' : ''}
            value={change[field]}
            maxTags={50}
            onChange={(values) => onChange({ [field]: values })}
          />
        ))}
      </SimpleGrid>
      <Group>
        {switchOf('No fallback to other providers', !change.allowFallbacks, (isOn) => ({
          allowFallbacks: !isOn,
        }))}
        {switchOf('No training on prompts', change.denyTraining, (denyTraining) => ({ denyTraining }))}
        {switchOf('Zero data retention', change.zdr, (zdr) => ({ zdr }))}
      </Group>
    </>
  )
}

function PresetFields({ change: { preset }, onChange }: FieldsProps) {
  const presets = useQuery(allPages(api.queryOptions('get', '/presets')))
  const versions = useQuery({
    ...api.queryOptions('get', '/presets/{slug}/versions', {
      params: { path: { slug: preset?.slug ?? '' }, query: { limit: 1 } },
    }),
    enabled: preset !== null,
  })
  const count = preset ? (versions.data?.total_count ?? 0) : 0
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Select
        label="Preset"
        description="Simulate another version as the live one."
        placeholder="None"
        searchable
        clearable
        data={(presets.data?.data ?? []).map(({ slug }) => slug)}
        value={preset?.slug ?? null}
        onChange={(slug) =>
          onChange({ preset: slug === null ? null : { slug, version: null, forAll: false } })
        }
      />
      {preset && (
        <div>
          <Select
            label="Version"
            description="Of the preset."
            placeholder="Choose one"
            searchable
            limit={100}
            data={Array.from({ length: count }, (_, index) => String(count - index))}
            value={preset.version === null ? null : String(preset.version)}
            onChange={(version) =>
              onChange({ preset: { ...preset, version: version === null ? null : Number(version) } })
            }
          />
          <Checkbox
            mt="xs"
            size="xs"
            label="Also for requests that do not name the preset"
            checked={preset.forAll}
            onChange={(event) => onChange({ preset: { ...preset, forAll: event.currentTarget.checked } })}
          />
        </div>
      )}
    </SimpleGrid>
  )
}
