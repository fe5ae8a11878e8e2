import { Button, Group, Paper, Select, Stack, Switch, Text, Textarea, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import {
  buildPlugin,
  type DefaultPlugin,
  draftOf,
  type PluginDraft,
  type PluginId,
  pluginTexts,
} from './plugin-draft.ts'

export const pluginsOptions = api.queryOptions('get', '/organization/plugins')

/** Edits the plugins of requests that do not name them. */
export function DefaultPlugins() {
  const query = useQuery(pluginsOptions)
  const mayChange = mayDoEverywhere(useSession(), 'plugins:write')
  return (
    <Panel
      title="Default plugins"
      description="Apply to every request by default. Requests can override or turn off a plugin unless you forbid it."
    >
      <QueryView query={query}>
        {({ data: { plugins } }) => (
          <PluginForm key={JSON.stringify(plugins)} plugins={plugins} mayChange={mayChange} />
        )}
      </QueryView>
    </Panel>
  )
}

function PluginForm({ plugins, mayChange }: { plugins: DefaultPlugin[]; mayChange: boolean }) {
  const refresh = useRefresh()
  const [drafts, setDrafts] = useState(() => plugins.map(draftOf))
  const built = drafts.map(buildPlugin)
  const valid = built.filter((plugin) => typeof plugin !== 'string')
  const isChanged = JSON.stringify(drafts) !== JSON.stringify(plugins.map(draftOf))
  const save = api.useMutation('put', '/organization/plugins', {
    onSuccess: async () => {
      notifications.show({ message: 'Saved.' })
      await refresh('/organization/plugins')
    },
  })
  const update = (id: PluginId, changes: Partial<PluginDraft>) =>
    setDrafts(drafts.map((draft) => (draft.id === id ? { ...draft, ...changes } : draft)))
  return (
    <Stack>
      {drafts.length === 0 && <Text size="sm">None.</Text>}
      {drafts.map((draft, index) => (
        <PluginFields
          key={draft.id}
          draft={draft}
          problem={typeof built[index] === 'string' ? built[index] : null}
          isDisabled={!mayChange}
          onChange={(changes) => update(draft.id, changes)}
          onRemove={() => setDrafts(drafts.filter(({ id }) => id !== draft.id))}
        />
      ))}
      {mayChange && <AddPlugin drafts={drafts} onAdd={(id) => setDrafts([...drafts, draftOf({ id })])} />}
      {save.error !== null && <ErrorNotice error={save.error} />}
      {mayChange && (
        <Group>
          <Button
            disabled={!isChanged || valid.length < drafts.length}
            loading={save.isPending}
            onClick={() => save.mutate({ body: { plugins: valid } })}
          >
            Save
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function AddPlugin({ drafts, onAdd }: { drafts: PluginDraft[]; onAdd: (id: PluginId) => void }) {
  const used = new Set<string>(drafts.map(({ id }) => id))
  const data = Object.entries(pluginTexts)
    .filter(([id]) => !used.has(id))
    .map(([value, text]) => ({ value, label: `${value}: ${text}` }))
  return (
    <Select
      label="Add a plugin"
      placeholder="Choose one"
      data={data}
      searchable
      value={null}
      onChange={(id) => id && onAdd(id as PluginId)}
    />
  )
}

interface PluginFieldsProps {
  draft: PluginDraft
  /** An error in the settings. */
  problem: string | null
  isDisabled: boolean
  onChange: (changes: Partial<PluginDraft>) => void
  onRemove: () => void
}

function PluginFields({ draft, problem, isDisabled, onChange, onRemove }: PluginFieldsProps) {
  const { id } = draft
  return (
    <Paper withBorder p="sm">
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start">
          <div style={{ flex: '1 1 200px' }}>
            <Title order={3} size="h5">
              {id}
            </Title>
            <Text size="sm" c="dimmed">
              {pluginTexts[id]}
            </Text>
          </div>
          {!isDisabled && (
            <Button size="xs" variant="default" aria-label={`Remove ${id}`} onClick={onRemove}>
              Remove
            </Button>
          )}
        </Group>
        <Switch
          label={`Use ${id}`}
          disabled={isDisabled}
          checked={draft.enabled}
          onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
        />
        <Switch
          label={`Requests cannot change ${id}`}
          disabled={isDisabled}
          checked={draft.preventOverrides}
          onChange={(event) => onChange({ preventOverrides: event.currentTarget.checked })}
        />
        <Textarea
          label={`Settings of ${id}, as JSON`}
          description="Leave empty for the plugin's defaults"
          disabled={isDisabled}
          error={problem}
          autosize
          maxLength={20_000}
          styles={{ input: { fontFamily: 'monospace' } }}
          value={draft.settings}
          onChange={(event) => onChange({ settings: event.currentTarget.value })}
        />
      </Stack>
    </Paper>
  )
}
