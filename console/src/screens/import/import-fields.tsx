import { FileInput, PasswordInput, Select, Stack, Textarea } from '@mantine/core'
import { type ImportDraft, sources } from './import-draft.ts'

interface ImportFieldsProps {
  draft: ImportDraft
  onChange: (changes: Partial<ImportDraft>) => void
}

/** What is imported, and what is needed to read it. */
export function ImportFields({ draft, onChange }: ImportFieldsProps) {
  return (
    <Stack>
      <FileInput
        label="Files"
        description="A configuration, a saved response of an API, a SQLite database, an SQL dump, or a list of keys. At most 5 MiB."
        placeholder="Choose files"
        styles={{ placeholder: { color: 'var(--mantine-color-dimmed)' } }}
        multiple
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the files' }}
        value={draft.files}
        onChange={(files) => onChange({ files })}
      />
      <Textarea
        label="Or paste the text"
        autosize
        minRows={3}
        maxRows={12}
        value={draft.text}
        onChange={(event) => onChange({ text: event.currentTarget.value })}
      />
      <Select
        label="From"
        placeholder="Recognized by the contents"
        clearable
        data={sources}
        value={draft.source}
        onChange={(value) => onChange({ source: sources.find((one) => one.value === value)?.value ?? null })}
      />
      <Textarea
        label="Variables"
        description="Values that the files refer to, as NAME=value lines."
        autosize
        minRows={2}
        maxRows={8}
        value={draft.variables}
        onChange={(event) => onChange({ variables: event.currentTarget.value })}
      />
      <PasswordInput
        label="Encryption key"
        description="LITELLM_SALT_KEY, for models that LiteLLM stores encrypted."
        autoComplete="off"
        value={draft.secret}
        onChange={(event) => onChange({ secret: event.currentTarget.value })}
      />
    </Stack>
  )
}
