//! The least an MCP server can do: one tool that answers with the contents of a file.

use std::path::Path;
use std::process::ExitCode;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};

use crate::Failure;

struct Echo(String);

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text(self.0.clone())]).into())
    }
}

/// Serves on the standard streams until they are closed.
pub(crate) fn serve(answer: &Path) -> Result<ExitCode, Failure> {
    let echo = Echo(std::fs::read_to_string(answer)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let service = echo.serve(rmcp::transport::io::stdio_pipes()).await?;
        service.waiting().await?;
        Ok(ExitCode::SUCCESS)
    })
}
