import { expect, test } from 'bun:test'
import { listBigFileSettings, transferFile } from '../support/big-file.ts'

const mebibyte = 1024 * 1024
const isSelected = process.env.HEADGATE_TEST_FILES !== undefined

test.if(isSelected).each(listBigFileSettings(1024))(
  '1 GiB passes through %s storage in a fifth of that memory',
  async (_, settings) => {
    const { uploadedBytes, downloadedBytes, growthBytes } = await transferFile(1024, settings)
    expect(uploadedBytes).toBe(1024 * mebibyte)
    expect(downloadedBytes).toBe(1024 * mebibyte)
    expect(growthBytes).toBeLessThan(200 * mebibyte)
  },
)
