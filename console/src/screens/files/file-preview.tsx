import { Image, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { sessionHeaders } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { useWorkspace } from '../../app/workspace.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { formatBytes } from '../../format/number.ts'
import { fileUrl } from './file-url.ts'
import { previewOf, type StoredFile } from './stored-file.ts'

/** Bytes of a text that are shown; the rest is in the download. */
const maxTextBytes = 65_536

/** A picture, a recording, or the beginning of a text. Nothing of a file is ever interpreted as markup. */
export function FilePreview({ file, onClose }: { file: StoredFile; onClose: () => void }) {
  const { id: workspaceId } = useWorkspace()
  const kind = previewOf(file)
  const query = useQuery({
    queryKey: ['file content', file.id, workspaceId],
    queryFn: ({ signal }) => fetchContent(fileUrl(file.id, workspaceId), kind === 'text', signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  return (
    <Modal opened onClose={onClose} size="xl" title={file.name} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="sm">
        <Text size="xs" c="dimmed">
          {file.type}, {formatBytes(file.bytes)}
        </Text>
        <QueryView query={query}>
          {(bytes) =>
            kind === 'text' ? (
              <TextPreview bytes={bytes} file={file} />
            ) : (
              <MediaPreview bytes={bytes} file={file} />
            )
          }
        </QueryView>
      </Stack>
    </Modal>
  )
}

async function fetchContent(url: string, isText: boolean, signal: AbortSignal): Promise<ArrayBuffer> {
  const headers = { ...sessionHeaders(), ...(isText && { range: `bytes=0-${maxTextBytes - 1}` }) }
  const response = await fetch(url, { credentials: 'same-origin', headers, signal })
  if (!response.ok) throw await ApiError.from(response)
  return response.arrayBuffer()
}

function TextPreview({ bytes, file }: { bytes: ArrayBuffer; file: StoredFile }) {
  return (
    <>
      <CodeBlock code={new TextDecoder().decode(bytes)} label="Copy the text" />
      {file.bytes > maxTextBytes && (
        <Text size="sm" c="dimmed">
          Only the beginning is shown. Download the file to see the rest.
        </Text>
      )}
    </>
  )
}

/** The type is one of the list of safe ones, whatever the bytes are. */
function MediaPreview({ bytes, file: { name, type } }: { bytes: ArrayBuffer; file: StoredFile }) {
  const [url, setUrl] = useState<string | null>(null)
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes, type])
  if (isBroken) return <Text size="sm">This browser cannot show the file. Download it instead.</Text>
  if (url === null) return null
  return type.startsWith('image/') ? (
    <Image src={url} alt={name} fit="contain" mah="70vh" onError={() => setBroken(true)} />
  ) : (
    <audio controls src={url} aria-label={name} style={{ width: '100%' }} onError={() => setBroken(true)}>
      <track kind="captions" src="data:text/vtt,WEBVTT" label="None" />
    </audio>
  )
}
