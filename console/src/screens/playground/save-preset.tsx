import { Alert, Autocomplete, Button, Code, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { allPages } from '../../api/all-pages.ts'
import { api, type Schemas } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { buildRequest } from './request.ts'
import type { Settings } from './settings.ts'

interface SavePresetProps {
  models: string[]
  settings: Settings
  onClose: () => void
}

const explanation =
  'A preset keeps the model, the system prompt and the parameters under a name that requests can use. The conversation is not saved.'
/** A request must have a message; a preset does not store it. */
const requiredMessage = { kind: 'user' as const, id: 'required', text: 'Hello', attachments: [] }
const slugPattern = /^[\w-]{1,100}$/

/** Saves model, system prompt and parameters as the next version of a preset. */
export function SavePreset({ models, settings, onClose }: SavePresetProps) {
  const [slug, setSlug] = useState('')
  const [model, setModel] = useState(models[0] ?? '')
  const queryClient = useQueryClient()
  const presets = useQuery(allPages(api.queryOptions('get', '/presets')))
  const slugs = (presets.data?.data ?? []).map((preset) => preset.slug)
  const save = api.useMutation('post', '/presets/{slug}/chat/completions', {
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['get', '/presets'] }),
  })
  const body = buildRequest(model, { ...settings, stream: false }, [
    requiredMessage,
  ]) as unknown as Schemas['ChatRequest']
  return (
    <Modal opened onClose={onClose} title="Save as preset" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (slugPattern.test(slug)) save.mutate({ params: { path: { slug } }, body })
        }}
      >
        <Stack>
          <Text size="sm">{explanation}</Text>
          <Autocomplete
            label="Name"
            description="1 to 100 letters, digits, hyphens and underscores"
            placeholder="support-agent"
            data={slugs}
            limit={100}
            value={slug}
            onChange={setSlug}
            data-autofocus
            error={slug !== '' && !slugPattern.test(slug) && 'Use letters, digits, hyphens and underscores.'}
          />
          {models.length > 1 && <ModelSelect models={models} value={model} onChange={setModel} />}
          {slugs.includes(slug) && !save.isSuccess && (
            <Text size="sm">
              This preset exists. Saving creates its next version and makes it the one in use.
            </Text>
          )}
          {save.error !== null && <ErrorNotice error={save.error} />}
          {save.isSuccess && (
            <Alert color="teal" role="status">
              Version {save.data.data.designated_version?.version} is saved. Use it with the model{' '}
              <Code>@preset/{save.data.data.slug}</Code>.
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" disabled={!slugPattern.test(slug)} loading={save.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface ModelSelectProps {
  models: string[]
  value: string
  onChange: (model: string) => void
}

function ModelSelect({ models, value, onChange }: ModelSelectProps) {
  return (
    <Select
      label="Model"
      allowDeselect={false}
      data={[...new Set(models)]}
      value={value}
      onChange={(model) => onChange(model ?? value)}
    />
  )
}
