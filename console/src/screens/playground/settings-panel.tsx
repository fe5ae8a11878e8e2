import { Accordion, NumberInput, Select, Stack, Switch, TagsInput, Text, Textarea } from '@mantine/core'
import { efforts, findProblems, type Settings, sorts } from './settings.ts'

interface SettingsPanelProps {
  settings: Settings
  onChange: (change: Partial<Settings>) => void
}

const monospace = { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12 } }

const exampleTools = `[{
  "type": "function",
  "function": {
    "name": "get_weather",
    "parameters": {
      "type": "object",
      "properties": { "city": { "type": "string" } }
    }
  }
}]`

/** Edits the settings of the requests to every model. */
export function SettingsPanel(props: SettingsPanelProps) {
  const { settings, onChange } = props
  return (
    <Accordion multiple defaultValue={['system']} variant="separated" order={2}>
      <Section id="system" title="System prompt">
        <Textarea
          aria-label="System prompt"
          placeholder="Instructions for the models"
          autosize
          minRows={3}
          maxRows={12}
          value={settings.system}
          onChange={(event) => onChange({ system: event.currentTarget.value })}
        />
      </Section>
      <Section id="parameters" title="Parameters">
        <Parameters {...props} />
      </Section>
      <Section id="format" title="Response format">
        <Format {...props} />
      </Section>
      <Section id="tools" title="Tools">
        <Textarea
          aria-label="Tools as a JSON array"
          placeholder={exampleTools}
          description="A JSON array. You enter the result of each call."
          autosize
          minRows={5}
          maxRows={20}
          styles={monospace}
          value={settings.tools}
          error={findProblems(settings).tools}
          onChange={(event) => onChange({ tools: event.currentTarget.value })}
        />
      </Section>
      <Section id="providers" title="Providers">
        <Preferences {...props} />
      </Section>
    </Accordion>
  )
}

function Section({ id, title, children }: { id: string; title: string; children: React.ReactNode }) {
  return (
    <Accordion.Item value={id}>
      <Accordion.Control>
        <Text size="sm" fw={600}>
          {title}
        </Text>
      </Accordion.Control>
      <Accordion.Panel>{children}</Accordion.Panel>
    </Accordion.Item>
  )
}

function Parameters({ settings, onChange }: SettingsPanelProps) {
  return (
    <Stack gap="xs">
      <NumberInput
        label="Temperature"
        placeholder="Model default"
        min={0}
        max={2}
        step={0.1}
        value={settings.temperature ?? ''}
        onChange={(value) => onChange({ temperature: typeof value === 'number' ? value : null })}
      />
      <NumberInput
        label="Max tokens"
        placeholder="Model default"
        min={1}
        allowDecimal={false}
        thousandSeparator=","
        value={settings.maxTokens ?? ''}
        onChange={(value) => onChange({ maxTokens: typeof value === 'number' ? value : null })}
      />
      <Select
        label="Reasoning effort"
        placeholder="Model default"
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the reasoning effort' }}
        data={efforts}
        value={settings.effort}
        onChange={(effort) => onChange({ effort })}
      />
      <Switch
        label="Stream"
        description="Shows the reply as it is written"
        checked={settings.stream}
        onChange={(event) => onChange({ stream: event.currentTarget.checked })}
      />
    </Stack>
  )
}

const formats = [
  { value: 'text', label: 'Text' },
  { value: 'json_object', label: 'JSON' },
  { value: 'json_schema', label: 'JSON schema' },
]

function Format({ settings, onChange }: SettingsPanelProps) {
  return (
    <Stack gap="xs">
      <Select
        aria-label="Response format"
        allowDeselect={false}
        data={formats}
        value={settings.format}
        onChange={(format) => onChange({ format: (format ?? 'text') as Settings['format'] })}
      />
      {settings.format === 'json_schema' && (
        <Textarea
          label="Schema"
          placeholder='{"type": "object", "properties": {}}'
          autosize
          minRows={5}
          maxRows={20}
          styles={monospace}
          value={settings.schema}
          error={findProblems(settings).schema}
          onChange={(event) => onChange({ schema: event.currentTarget.value })}
        />
      )}
    </Stack>
  )
}

function Preferences({ settings, onChange }: SettingsPanelProps) {
  return (
    <Stack gap="xs">
      <Select
        label="Sort providers by"
        placeholder="Balanced"
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the preference' }}
        data={sorts}
        value={settings.sort}
        onChange={(sort) => onChange({ sort })}
      />
      <TagsInput
        label="Providers"
        placeholder="All"
        description="Press Enter after each one"
        value={settings.only}
        onChange={(only) => onChange({ only })}
      />
      <Switch
        label="Allow fallbacks"
        checked={settings.allowFallbacks}
        onChange={(event) => onChange({ allowFallbacks: event.currentTarget.checked })}
      />
      <Switch
        label="Exclude providers that train on prompts"
        checked={settings.denyTraining}
        onChange={(event) => onChange({ denyTraining: event.currentTarget.checked })}
      />
      <Switch
        label="Require zero data retention"
        checked={settings.zdr}
        onChange={(event) => onChange({ zdr: event.currentTarget.checked })}
      />
    </Stack>
  )
}
