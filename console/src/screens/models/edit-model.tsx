import { NumberInput, Text, Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { JsonFields, parseJsonObject } from '../../components/json-fields.tsx'
import { refreshCatalog } from '../../components/refresh-catalog.ts'

interface EditModelProps {
  model: Schemas['CatalogueModel']
  onClose: () => void
}

/** An edit has only the fields that differ, so those left empty are not sent. */
export function EditModel({ model, onClose }: EditModelProps) {
  const queryClient = useQueryClient()
  const { name = '', description = '', context_length, ...others } = model.edit?.fields ?? {}
  const [draft, setDraft] = useState({ name, description, context: context_length ?? null })
  const [rest, setRest] = useState(Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : '')
  const parsed = parseJsonObject(rest)
  const now = model.in_force
  const [author = '', ...slug] = model.id.split('/')
  const save = async () => {
    const body = {
      ...parsed,
      ...(draft.name && { name: draft.name }),
      ...(draft.description && { description: draft.description }),
      ...(draft.context !== null && { context_length: draft.context }),
    }
    const path = { author, slug: slug.join('/') }
    await client.PUT('/catalogue/models/{author}/{slug}', { params: { path }, body })
    await refreshCatalog(queryClient)
  }
  return (
    <FormDialog
      title={`Edit ${model.id}`}
      action="Save"
      isReady={parsed !== null}
      onSubmit={save}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        Empty fields keep their value. Prices are set on the endpoints.
      </Text>
      <TextInput
        label="Name"
        placeholder={now?.name ?? ''}
        value={draft.name}
        data-autofocus
        onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
      />
      <Textarea
        label="Description"
        placeholder={now?.description ?? ''}
        autosize
        maxRows={6}
        value={draft.description}
        onChange={(event) => setDraft({ ...draft, description: event.currentTarget.value })}
      />
      <NumberInput
        label="Context"
        description="Prompt and reply together, in tokens"
        min={1}
        thousandSeparator=","
        placeholder={now?.context_length?.toString() ?? ''}
        value={draft.context ?? ''}
        onChange={(value) => setDraft({ ...draft, context: typeof value === 'number' ? value : null })}
      />
      <JsonFields value={rest} onChange={setRest} placeholder='{"aliases": ["our/model"]}' />
    </FormDialog>
  )
}
