import { Input, JsonInput, NumberInput, Select, SimpleGrid, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { ModelPicker } from '../../components/model-picker.tsx'
import { TextField } from '../../components/text-field.tsx'
import { configOf, type Draft, formatLabels, limitFields, presetFormats, requestOf } from './draft.ts'

const slugPattern = /^[\w-]{1,100}$/

interface VersionEditorProps {
  /** Null: a new preset, which gets its name here. */
  slug: string | null
  title: string
  initial: Draft
  onSaved: (slug: string) => void
  onClose: () => void
}

/** A new version, which is used at once; the earlier ones stay. */
export function VersionEditor({ slug, title, initial, onSaved, onClose }: VersionEditorProps) {
  const refresh = useRefresh()
  const [name, setName] = useState(slug ?? '')
  const [draft, setDraft] = useState(initial)
  const built = configOf(draft)
  const problem = 'problem' in built ? built.problem : null
  const hasName = slugPattern.test(name)
  const save = async () => {
    if ('problem' in built) return
    await createVersion(name, draft.format, requestOf(draft, built.config))
    await refresh('/presets', '/presets/{slug}', '/presets/{slug}/versions')
    onSaved(name)
  }
  return (
    <FormDialog
      title={title}
      action={slug === null ? 'Create' : 'Save as new version'}
      isReady={hasName && problem === null && draft !== initial}
      size="lg"
      onSubmit={save}
      onClose={onClose}
    >
      {slug === null ? (
        <TextField
          label="Name"
          description="1 to 100 letters, digits, hyphens and underscores. Requests use it, so it cannot be changed later."
          placeholder="support-agent"
          required
          data-autofocus
          value={name}
          error={name !== '' && !hasName && 'Use letters, digits, hyphens and underscores.'}
          onChange={setName}
        />
      ) : (
        <Text size="sm">
          Saves a new version, which goes live immediately. You can make an earlier version live again.
        </Text>
      )}
      <DraftFields draft={draft} problem={problem} onChange={(more) => setDraft({ ...draft, ...more })} />
    </FormDialog>
  )
}

/** Each format has a path of its own. */
async function createVersion(
  slug: string,
  format: Draft['format'],
  request: Record<string, unknown>,
): Promise<void> {
  const params = { path: { slug } }
  if (format === 'chat') {
    await client.POST('/presets/{slug}/chat/completions', {
      params,
      body: request as unknown as Schemas['ChatRequest'],
    })
  } else if (format === 'messages') {
    await client.POST('/presets/{slug}/messages', {
      params,
      body: request as unknown as Schemas['MessagesRequest'],
    })
  } else {
    await client.POST('/presets/{slug}/responses', {
      params,
      body: request as unknown as Schemas['ResponsesRequest'],
    })
  }
}

const formats = presetFormats.map((value) => ({ value, label: formatLabels[value] }))

interface DraftFieldsProps {
  draft: Draft
  problem: string | null
  onChange: (changes: Partial<Draft>) => void
}

function DraftFields({ draft, problem, onChange }: DraftFieldsProps) {
  return (
    <>
      <Select
        label="Format"
        description="The format of the requests that use it. In other formats, only equivalent fields apply."
        allowDeselect={false}
        data={formats}
        value={draft.format}
        onChange={(value) => value && onChange({ format: value })}
      />
      <div>
        <Input.Label labelElement="div" aria-hidden="true">
          Model
        </Input.Label>
        <ModelPicker label="Model" value={draft.model} onChange={(model) => onChange({ model })} />
      </div>
      <Textarea
        label="System prompt"
        autosize
        minRows={4}
        maxRows={16}
        value={draft.systemPrompt}
        onChange={(event) => onChange({ systemPrompt: event.currentTarget.value })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NumberInput
          label="Temperature"
          description="temperature"
          placeholder="Model default"
          min={0}
          max={2}
          step={0.1}
          value={draft.temperature ?? ''}
          onChange={(value) => onChange({ temperature: value === '' ? null : Number(value) })}
        />
        <NumberInput
          label="Max reply tokens"
          description={limitFields[draft.format]}
          placeholder="Model default"
          min={1}
          allowDecimal={false}
          value={draft.maxTokens ?? ''}
          onChange={(value) => onChange({ maxTokens: value === '' ? null : Number(value) })}
        />
      </SimpleGrid>
      <JsonInput
        label="Other fields, as JSON"
        description="Routing, tools, reasoning and the rest, under the names of the format."
        placeholder={'{"provider": {"sort": "price"}}'}
        autosize
        minRows={3}
        maxRows={14}
        error={problem}
        value={draft.others}
        onChange={(others) => onChange({ others })}
      />
    </>
  )
}
