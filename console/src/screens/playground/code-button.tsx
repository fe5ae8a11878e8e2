import { Button, Modal, SegmentedControl, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { apiUrl } from '../../api/base-url.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { listSamples } from './code.ts'

/** The next request as code, to copy into an application. */
export function CodeButton({ createBody }: { createBody: () => object | undefined }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="default" size="xs" onClick={() => setOpen(true)}>
        Code
      </Button>
      {isOpen && <CodeDialog body={createBody() ?? {}} onClose={() => setOpen(false)} />}
    </>
  )
}

function CodeDialog({ body, onClose }: { body: object; onClose: () => void }) {
  const samples = listSamples(body, apiUrl())
  const [label, setLabel] = useState(samples[0]?.label ?? '')
  const sample = samples.find((one) => one.label === label)
  return (
    <Modal opened onClose={onClose} title="Code" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <SegmentedControl
          size="xs"
          aria-label="Language"
          data={samples.map((one) => one.label)}
          value={label}
          onChange={setLabel}
        />
        {sample && (
          <CodeBlock code={sample.code} label={`Copy as ${sample.label}`} language={sample.language} />
        )}
        <Text size="sm" c="dimmed">
          The next request to the first model. Set <code>HEADGATE_KEY</code> to an API key.
        </Text>
      </Stack>
    </Modal>
  )
}
