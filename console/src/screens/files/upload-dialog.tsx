import { FileInput, Progress, Select, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { formatBytes } from '../../format/number.ts'
import { type Purpose, uploadPurposes } from './purposes.ts'
import { uploadFile } from './upload.ts'

/** Uploads files one after the other. */
export function UploadDialog({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const [files, setFiles] = useState<File[]>([])
  const [purpose, setPurpose] = useState<Purpose>('user_data')
  const [progress, setProgress] = useState<{ name: string; share: number } | null>(null)
  const controller = useRef(new AbortController())
  // Closing the dialog ends the upload.
  useEffect(() => () => controller.current.abort(), [])
  const upload = async () => {
    try {
      for (const file of files) {
        const onProgress = (share: number) => setProgress({ name: file.name, share })
        onProgress(0)
        await uploadFile({ file, purpose, signal: controller.current.signal, onProgress })
        setFiles((waiting) => waiting.filter((other) => other !== file))
      }
    } finally {
      setProgress(null)
      await refresh('/files')
    }
  }
  return (
    <FormDialog
      title="Upload files"
      action="Upload"
      isReady={files.length > 0}
      onSubmit={upload}
      onClose={onClose}
    >
      <FileInput
        label="Files"
        description="PDF, images, Office documents, recordings and texts. The server recognizes the type from the content."
        placeholder="Choose files"
        styles={{ placeholder: { color: 'var(--mantine-color-dimmed)' } }}
        multiple
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the files' }}
        value={files}
        onChange={setFiles}
        data-autofocus
      />
      <Text size="xs" c="dimmed">
        {files.length > 0 && `${formatBytes(files.reduce((sum, { size }) => sum + size, 0))} in all`}
      </Text>
      <Select
        label="Purpose"
        description="Applications can list files by purpose."
        allowDeselect={false}
        data={[...uploadPurposes]}
        value={purpose}
        onChange={(value) => value && setPurpose(value)}
      />
      {progress && (
        <div role="status">
          <Text size="xs">{progress.name}</Text>
          <Progress value={100 * progress.share} aria-label={`Progress of ${progress.name}`} />
        </div>
      )}
    </FormDialog>
  )
}
