import {
  Button,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { changesOf, type SettingFields, settingsOf } from './setting-fields.ts'

type Workspace = Schemas['Workspace']

const sorts = [
  { value: 'price', label: 'Lowest price' },
  { value: 'throughput', label: 'Highest throughput' },
  { value: 'latency', label: 'Lowest latency' },
  { value: 'exacto', label: 'Best tool calls (exacto)' },
]

/** The settings as a form; only what was changed is sent. */
export function Settings({ workspace, mayChange }: { workspace: Workspace; mayChange: boolean }) {
  const queryClient = useQueryClient()
  const [fields, setFields] = useState<SettingFields>(() => settingsOf(workspace))
  const changes = changesOf(workspace, fields)
  const save = api.useMutation('patch', '/workspaces/{id}', {
    onSuccess: async ({ data }) => {
      setFields(settingsOf(data))
      notifications.show({ message: 'Saved.' })
      await Promise.all(
        ['/workspaces', '/workspaces/{id}', '/session'].map((path) =>
          queryClient.invalidateQueries({ queryKey: ['get', path] }),
        ),
      )
    },
  })
  return (
    <Panel title="Settings" description={<Id value={workspace.id} />}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate({ params: { path: { id: workspace.id } }, body: changes })
        }}
      >
        <Stack>
          <Fields
            fields={fields}
            isDisabled={!mayChange}
            onChange={(more) => setFields({ ...fields, ...more })}
          />
          {save.error !== null && <ErrorNotice error={save.error} />}
          {mayChange && (
            <Group>
              <Button type="submit" disabled={Object.keys(changes).length === 0} loading={save.isPending}>
                Save
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Panel>
  )
}

interface FieldsProps {
  fields: SettingFields
  isDisabled: boolean
  onChange: (fields: Partial<SettingFields>) => void
}

function Fields({ fields, isDisabled: disabled, onChange }: FieldsProps) {
  const text = (name: 'name' | 'slug' | 'default_text_model' | 'default_image_model') => ({
    disabled,
    value: fields[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange({ [name]: event.currentTarget.value }),
  })
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput label="Name" required maxLength={100} {...text('name')} />
        <TextInput label="Short name" required maxLength={50} {...text('slug')} />
        <TextInput
          label="Default model for text"
          description="For requests that name none."
          maxLength={200}
          {...text('default_text_model')}
        />
        <TextInput
          label="Default model for images"
          description="For requests that name none."
          maxLength={200}
          {...text('default_image_model')}
        />
        <Textarea
          label="Description"
          maxLength={500}
          autosize
          disabled={disabled}
          value={fields.description}
          onChange={(event) => onChange({ description: event.currentTarget.value })}
        />
        <Select
          label="Order of providers"
          placeholder="Balanced"
          data={sorts}
          clearable
          disabled={disabled}
          value={fields.default_provider_sort}
          onChange={(value) => onChange({ default_provider_sort: value })}
        />
      </SimpleGrid>
      <LoggingFields fields={fields} isDisabled={disabled} onChange={onChange} />
    </>
  )
}

function LoggingFields({ fields, isDisabled: disabled, onChange }: FieldsProps) {
  return (
    <>
      <Switch
        label="Store prompts and replies"
        description="Visible to everyone with the permission contents:read."
        disabled={disabled}
        checked={fields.is_observability_io_logging_enabled}
        onChange={(event) => onChange({ is_observability_io_logging_enabled: event.currentTarget.checked })}
      />
      {fields.is_observability_io_logging_enabled && (
        <NumberInput
          label="Share of requests stored"
          suffix=" %"
          min={0}
          max={100}
          maw={260}
          disabled={disabled}
          value={fields.stored_percent}
          onChange={(value) => onChange({ stored_percent: Number(value) })}
        />
      )}
      <Switch
        label="Report requests to observability destinations"
        disabled={disabled}
        checked={fields.is_observability_broadcast_enabled}
        onChange={(event) => onChange({ is_observability_broadcast_enabled: event.currentTarget.checked })}
      />
      <Switch
        label="Cache prompts at providers"
        description="Adds cache breakpoints to prompts that share a beginning, which lowers their cost."
        disabled={disabled}
        checked={fields.is_prompt_caching_enabled}
        onChange={(event) => onChange({ is_prompt_caching_enabled: event.currentTarget.checked })}
      />
    </>
  )
}
