import { Button, Divider, Group, Stack, Switch } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextField } from '../../components/text-field.tsx'
import { ConfigFields } from './config-fields.tsx'
import { buildChanges, type DestinationDraft, draftOf } from './draft.ts'
import { isFilterReady } from './filter-draft.ts'
import { FilterFields } from './filter-fields.tsx'
import { HeaderFields } from './header-fields.tsx'
import type { Destination } from './kinds.ts'
import { OptionFields } from './option-fields.tsx'
import { useDestinationRefresh } from './queries.ts'

interface EditDestinationProps {
  destination: Destination
  mayChange: boolean
}

/** The settings as a form; only what was changed is sent. */
export function EditDestination({ destination, mayChange }: EditDestinationProps) {
  const refresh = useDestinationRefresh()
  const [draft, setDraft] = useState(() => draftOf(destination))
  const changes = buildChanges(destination, draft)
  const isReady =
    draft.name.trim() !== '' && Object.keys(changes).length > 0 && isFilterReady(draft.filterGroups)
  const save = api.useMutation('patch', '/observability/destinations/{id}', {
    onSuccess: async () => {
      notifications.show({ message: 'Saved.' })
      await refresh()
    },
  })
  return (
    <Panel title="Settings">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) save.mutate({ params: { path: { id: destination.id } }, body: changes })
        }}
      >
        <Stack>
          <SettingFields
            destination={destination}
            draft={draft}
            isDisabled={!mayChange}
            onChange={(more) => setDraft({ ...draft, ...more })}
          />
          {save.error !== null && <ErrorNotice error={save.error} />}
          {mayChange && (
            <Group>
              <Button type="submit" disabled={!isReady} loading={save.isPending}>
                Save
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Panel>
  )
}

interface SettingFieldsProps {
  destination: Destination
  draft: DestinationDraft
  isDisabled: boolean
  onChange: (changes: Partial<DestinationDraft>) => void
}

function SettingFields({ destination, draft, isDisabled, onChange }: SettingFieldsProps) {
  const { type, config, workspace_id } = destination
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={200}
        disabled={isDisabled}
        value={draft.name}
        onChange={(name) => onChange({ name })}
      />
      <Switch
        label="Enabled"
        description="While it is off, requests are neither reported nor queued. To queue them, pause it instead."
        disabled={isDisabled}
        checked={draft.enabled}
        onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
      />
      <Divider />
      <ConfigFields
        type={type}
        config={draft.config}
        stored={config}
        isDisabled={isDisabled}
        onChange={(next) => onChange({ config: next })}
      />
      <HeaderFields
        headers={draft.headers}
        isDisabled={isDisabled}
        onChange={(headers) => onChange({ headers })}
      />
      <Divider />
      <OptionFields draft={draft} workspaceId={workspace_id} isDisabled={isDisabled} onChange={onChange} />
      <Divider />
      <FilterFields
        groups={draft.filterGroups}
        isFiltering={draft.isFiltering}
        isDisabled={isDisabled}
        onChange={onChange}
      />
    </>
  )
}
